// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// nccl_loader_probe: lets a real libnccl.so.2 load its network plugin without a GPU, and prints
// what it chose, what it logged and whether data moves, as one JSON object.
#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/nccl/probe/communicator.h"
#include "tests/nccl/probe/loopback.h"
#include "tests/nccl/probe/net_table.h"
#include "tests/nccl/probe/properties.h"

namespace fabrail::nccl_test {
namespace {

constexpr int kExitUnsupported = 77;  // ctest's and automake's number for "skipped"
constexpr uint64_t kFirstCommHash = 0xc0ffee00;
constexpr unsigned kGiveUpSeconds = 300;

struct Options {
  std::string library;
  int cycles = 1;
  bool loopback = false;
  bool overlap = false;
};

/// NCCL's log of this process, in a file that goes away with it.
class LogFile {
 public:
  LogFile() {
    const int fd = mkstemp(path_.data());
    if (fd < 0) throw std::runtime_error("no temporary file for the log");
    ::close(fd);
    setenv("NCCL_DEBUG_FILE", path_.c_str(), 1);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() { unlink(path_.c_str()); }

  nlohmann::json lines() const {
    auto lines = nlohmann::json::array();
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  std::string path_ =
      (std::filesystem::temp_directory_path() / "nccl_loader_probe.XXXXXX").string();
};

/// What NCCL reads from the environment while it starts; the caller's settings win, but for CUDA:
/// the loader must stop where CUDA begins, with a GPU in the machine too.
void prepare_environment() {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  setenv("NCCL_DEBUG", "INFO", 0);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  setenv("NCCL_COMM_ID", "127.0.0.1:1", 0);  // no rank 0 to listen for: nobody will connect
}

// The public door. It reads NCCL's environment and files, and up to 2.21 loads the plugin.
void start_nccl(const NcclLibrary& nccl) {
  char unique_id[128];
  const int result = nccl.exported<int(char*)>("ncclGetUniqueId")(unique_id);
  if (result != 0) {
    throw std::runtime_error("ncclGetUniqueId returned " + std::to_string(result));
  }
}

auto entries_in(const char* directory) {
  return std::distance(std::filesystem::directory_iterator(directory), {});
}

nlohmann::json try_loopback(int abi, const Communicator& comm) {
  try {
    loop_back(abi, comm.table(), comm.context());
    return "ok";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

void describe_network(int abi, const Communicator& comm, nlohmann::json& report) {
  report["devices"] = count_devices(abi, comm.table());
  report.update(describe_device(abi, comm.table()));
}

/// One communicator of the loop: opened, described, used. `previous` is closed in between with
/// --overlap, so that this one is used while another one's context goes away.
nlohmann::json run_cycle(const Communicator& comm, std::optional<Communicator>& previous,
                         const Options& options, int table_abi) {
  nlohmann::json cycle{{"result", comm.result()}, {"network", comm.network()}};
  if (previous) cycle["closed_previous"] = previous->close();
  previous.reset();
  if (comm.table() == nullptr) return cycle;
  cycle["abi"] = comm.abi();
  if (options.loopback) cycle["loopback"] = try_loopback(table_abi, comm);
  return cycle;
}

void run_cycles(const NcclLibrary& nccl, const Options& options, nlohmann::json& report) {
  const int table_abi = native_abi(nccl.version());
  std::optional<Communicator> previous;
  for (int i = 0; i < options.cycles; ++i) {
    Communicator comm(nccl, kFirstCommHash + static_cast<unsigned>(i));
    report["door"] = comm.door();
    if (i == 0 && comm.table() != nullptr) describe_network(table_abi, comm, report);
    nlohmann::json cycle = run_cycle(comm, previous, options, table_abi);
    const bool keep = options.overlap && i + 1 < options.cycles;
    if (keep) {
      previous.emplace(std::move(comm));
    } else if (comm.table() != nullptr) {
      cycle["closed"] = comm.close();
    }
    cycle["threads"] = entries_in("/proc/self/task");
    cycle["descriptors"] = entries_in("/proc/self/fd");
    report["cycles"].push_back(cycle);
  }
}

nlohmann::json probe(const Options& options) {
  const LogFile log;
  prepare_environment();
  const NcclLibrary nccl(options.library);
  nlohmann::json report{{"library", options.library},
                        {"version", nccl.version()},
                        {"release", nccl.version_text()},
                        {"native_abi", native_abi(nccl.version())}};
  comm_layout(nccl.version());  // an unknown release is found out before anything is started
  start_nccl(nccl);
  run_cycles(nccl, options, report);
  report["log"] = log.lines();
  return report;
}

}  // namespace
}  // namespace fabrail::nccl_test

int main(int argc, char** argv) {
  using fabrail::nccl_test::Options;
  Options options;
  CLI::App app{"Lets a real libnccl.so.2 load its network plugin, without a GPU"};
  app.add_option("--library", options.library, "the libnccl.so.2 to drive")->required();
  app.add_option("--cycles", options.cycles, "communicators to create and destroy, one by one");
  app.add_flag("--loopback", options.loopback, "send messages through every communicator");
  app.add_flag("--overlap", options.overlap,
               "destroy a communicator only when the next one exists");
  CLI11_PARSE(app, argc, argv);
  alarm(fabrail::nccl_test::kGiveUpSeconds);  // must not outlive the test that started it
  try {
    std::cout << fabrail::nccl_test::probe(options).dump(2) << std::endl;
  } catch (const fabrail::nccl_test::Unsupported& reason) {
    std::cerr << "nccl_loader_probe: " << reason.what() << std::endl;
    return fabrail::nccl_test::kExitUnsupported;
  } catch (const std::exception& error) {
    std::cerr << "nccl_loader_probe: " << error.what() << std::endl;
    return 1;
  }
  return 0;
}
