// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/running_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr std::size_t kMapsBytes = std::size_t{16} << 20;

/// Some count the same bytes twice: the sum says whether and where something moves, not how much.
constexpr std::array kByteCounters = {"tx_bytes", "rx_bytes", "send_bytes", "rdma_write_bytes",
                                      "rdma_read_bytes"};
constexpr std::array kErrorCounters = {"rx_drops",
                                       "rdma_read_wr_err",
                                       "rdma_write_wr_err",
                                       "retrans_timeout_events",
                                       "impaired_remote_conn_events",
                                       "unresponsive_remote_events"};

template <std::size_t N>
std::int64_t sum(const System& system, const std::string& device,
                 const std::array<const char*, N>& names) {
  std::int64_t total = 0;
  for (const char* name : names) {
    const std::string path =
        fmt::format("/sys/class/infiniband/{}/ports/1/hw_counters/{}", device, name);
    total += to_number(system.line(path).value_or("")).value_or(0);
  }
  return total;
}

std::vector<NicTraffic> read_counters(const System& system) {
  std::vector<NicTraffic> counters;
  for (const std::string& device : system.list("/sys/class/infiniband")) {
    if (!system.exists("/sys/class/infiniband/" + device + "/ports/1/hw_counters/tx_bytes"))
      continue;
    counters.push_back(
        {device, sum(system, device, kByteCounters), sum(system, device, kErrorCounters)});
  }
  return counters;
}

std::vector<NicTraffic> watch(const System& system, double seconds) {
  const std::vector<NicTraffic> before = read_counters(system);
  system.wait(seconds);
  std::vector<NicTraffic> after = read_counters(system);
  for (NicTraffic& nic : after) {
    const auto old = std::find_if(before.begin(), before.end(),
                                  [&](const NicTraffic& one) { return one.device == nic.device; });
    if (old == before.end()) continue;
    nic.bytes -= old->bytes;
    nic.errors -= old->errors;
  }
  return after;
}

}  // namespace

std::vector<std::string> mapped_files(std::string_view maps) {
  std::vector<std::string> files;
  for (const std::string& line : lines(maps)) {
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    std::string path = line.substr(slash);
    if (std::find(files.begin(), files.end(), path) == files.end())
      files.push_back(std::move(path));
  }
  return files;
}

Result<RunningJob> read_running_job(const System& system, int pid, double seconds) {
  const std::string folder = fmt::format("/proc/{}", pid);
  if (!system.exists(folder)) {
    return make_error(Code::kSystem, 0, "there is no process %d", pid);
  }
  const auto maps = system.read(folder + "/maps", kMapsBytes);
  if (!maps) {
    return make_error(Code::kSystem, 0, "process %d may not be read: run as its user or as root",
                      pid);
  }
  RunningJob job;
  job.pid = pid;
  job.command = system.line(folder + "/comm").value_or("");
  job.mapped = mapped_files(*maps);
  job.limits = system.read(folder + "/limits").value_or("");
  job.status = system.read(folder + "/status").value_or("");
  job.seconds = seconds;
  job.traffic = watch(system, seconds);
  return job;
}

System system_of(const System& system, int pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  System job = system;
  std::string text = system.read(folder + "/environ").value_or("");
  job.environment = environment_from(split(text, '\0'));
  job.libfabric = {};  // it would answer for this shell's environment and libraries
  // The kernel's link to the root of the process leads into its container; no path does.
  const std::string root = system.root + folder + "/root";
  std::error_code error;
  if (std::filesystem::is_directory(root + "/proc", error)) job.root = root;
  return job;
}

}  // namespace fabrail::doctor
