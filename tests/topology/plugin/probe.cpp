// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Loads the plugin as NCCL does and prints what it says: log lines, devices, and the variables that
// it set. probe PLUGIN [again] [fork] [orphan] [listen]: init twice, look from a child, from one
// whose parent has ended, listen on device 0.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "include/nccl_net_abi.h"

extern char** environ;

namespace {

void log(nccl_net_log_level_t level, unsigned long, const char*, int, const char* format, ...) {
  char line[2048];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  std::cout << (level == NCCL_NET_LOG_WARN ? "warn " : "info ") << line << "\n";
}

int print_devices(const nccl_net_v12_t& net) {
  int count = 0;
  if (net.devices(&count) != NCCL_NET_SUCCESS) return 1;
  for (int dev = 0; dev < count; ++dev) {
    nccl_net_properties_v12_t p;
    const nccl_net_result_t result = net.get_properties(dev, &p);
    if (result != NCCL_NET_SUCCESS) {
      std::cout << "refused " << dev << " " << result << "\n";
      return 1;
    }
    std::cout << "device " << p.name << " " << p.speed << " " << p.latency << " " << p.port << " "
              << p.rail_id << " " << p.plane_id << " " << p.guid << " "
              << (p.pci_path == nullptr ? "-" : p.pci_path) << "\n";
    std::cout << "memory of " << dev << ": ptr " << p.ptr_support << " force_flush "
              << p.force_flush << "\n";
  }
  return 0;
}

void print_environment() {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("NCCL_") || text.starts_with("FI_")) std::cout << "env " << text << "\n";
  }
}

void print_topology_file() {
  const char* path = std::getenv("NCCL_TOPO_FILE");
  if (path == nullptr || !std::filesystem::is_regular_file(path)) return;
  std::ifstream stream(path);
  std::cout << "file\n" << std::string(std::istreambuf_iterator<char>(stream), {}) << std::flush;
}

void print_listen(const nccl_net_v12_t& net) {
  std::byte handle[NCCL_NET_HANDLE_BYTES] = {};
  void* listener = nullptr;
  const nccl_net_result_t result = net.listen(nullptr, 0, handle, &listener);
  std::cout << "listen " << result << "\n";
}

int look(const nccl_net_v12_t& net) {
  const int failed = print_devices(net);
  print_environment();
  print_topology_file();
  return failed;
}

double cpu_ms() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

nccl_net_result_t init(const nccl_net_v12_t& net) {
  void* context = nullptr;
  nccl_net_comm_config_t config = {};
  const double begin = cpu_ms();
  const nccl_net_result_t result = net.init(&context, 0, &config, log, nullptr);
  std::cout << "cpu " << cpu_ms() - begin << "\n";
  return result;
}

// In a child; as an orphan only after this process, its parent, has ended.
int look_from_child(const nccl_net_v12_t& net, bool orphan) {
  int ended[2];
  if (pipe(ended) != 0) return 1;
  const pid_t child = fork();
  if (child != 0) {
    close(ended[0]);
    int status = 1;
    if (!orphan) waitpid(child, &status, 0);
    return orphan ? 0 : status;
  }
  close(ended[1]);
  char byte = 0;
  if (orphan && read(ended[0], &byte, 1) != 0) std::_Exit(1);
  const bool right = init(net) == NCCL_NET_SUCCESS && look(net) == 0;
  std::cout.flush();
  std::_Exit(right ? 0 : 1);
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const auto asked = [&](const char* word) { return std::ranges::count(words, word) > 0; };
  void* library = words.empty() ? nullptr : dlopen(words[0].c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto* net = library == nullptr
                        ? nullptr
                        : static_cast<nccl_net_v12_t*>(dlsym(library, "ncclNetPlugin_v12"));
  if (net == nullptr || init(*net) != NCCL_NET_SUCCESS) return 1;
  if (asked("again") && (net->finalize(nullptr), init(*net)) != NCCL_NET_SUCCESS) return 1;
  std::cout.flush();
  if (asked("fork") || asked("orphan")) return look_from_child(*net, asked("orphan"));
  if (asked("listen")) print_listen(*net);
  return look(*net);
}
