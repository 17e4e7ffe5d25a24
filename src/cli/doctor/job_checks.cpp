// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on a running process: what it has loaded, and whether NICs move while it runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> mapped(const RunningJob& job, std::string_view prefix) {
  std::vector<std::string> found;
  for (const std::string& path : job.mapped) {
    if (file_name(path).starts_with(prefix) && contains(path, ".so")) found.push_back(path);
  }
  return found;
}

Findings check_nccl(const Survey& survey) {
  const RunningJob& job = *survey.job;
  const auto files = mapped(job, "libnccl.so");
  if (files.empty())
    return note(fmt::format("{} ({}) has no libnccl.so mapped", job.pid, job.command));
  std::vector<std::string> shown;
  for (const std::string& file : files) {
    shown.push_back(fmt::format("{} ({})", file, text_of(nccl_version_of(survey.system, file))));
  }
  if (files.size() == 1) return fine("NCCL is " + shown[0]);
  return broken("two copies of NCCL are loaded: " + join(shown, ", "),
                "Which one answers depends on the caller; ranks may differ.",
                "Find what brings the second one in: LD_PRELOAD, LD_LIBRARY_PATH, or a package.");
}

Findings check_plugin(const Survey& survey) {
  const RunningJob& job = *survey.job;
  if (mapped(job, "libnccl.so").empty()) return {};
  const auto files = mapped(job, "libnccl-net");
  if (files.empty()) {
    if (!survey.expects_efa()) return note("no net plugin is loaded");
    return broken(fmt::format("{} ({}) has NCCL loaded, but no net plugin", job.pid, job.command),
                  "It runs on sockets, unless it has not yet made a communicator.",
                  "The other checks say why; they see the environment of this process.");
  }
  std::vector<std::string> shown;
  for (const std::string& file : files) {
    const Plugin plugin = read_plugin(survey.system, {file, file, ""});
    shown.push_back(fmt::format("{}: {} {}", file, name_of(plugin.kind),
                                plugin.version ? plugin.version->text : ""));
  }
  return fine("plugin " + std::string(trim(join(shown, ", "))));
}

Findings check_libfabric(const Survey& survey) {
  const auto files = mapped(*survey.job, "libfabric.so");
  if (files.empty()) return {};
  if (files.size() > 1) {
    return broken(fmt::format("several copies of libfabric are loaded: {}", join(files, ", ")),
                  "Each has its own view of the NICs and of registered memory.",
                  "Leave one in the search path.");
  }
  const LibfabricCopy copy = read_libfabric(survey.system, {files[0], files[0], ""});
  return fine(fmt::format("libfabric is {} ({})", files[0], text_of(copy.version)));
}

Findings check_deleted(const Survey& survey) {
  for (const std::string& path : survey.job->mapped) {
    if (!contains(path, " (deleted)") || !contains(path, ".so")) continue;
    if (!contains(path, "nccl") && !contains(path, "fabric") && !contains(path, "efa")) continue;
    return warning(fmt::format("a loaded library was replaced on disk: {}", path),
                   "The process runs the old file, ranks that start now the new one.",
                   "Restart the job after an update.");
  }
  return {};
}

Findings check_traffic(const Survey& survey) {
  const RunningJob& job = *survey.job;
  if (job.traffic.empty()) return {};
  std::vector<std::string> idle;
  std::int64_t bytes = 0;
  for (const NicTraffic& nic : job.traffic) {
    bytes += nic.bytes;
    if (nic.bytes == 0) idle.push_back(nic.device);
  }
  if (bytes == 0) {
    return warning(fmt::format("no EFA NIC moved a byte in {:.1f} s", job.seconds),
                   "If the job communicates now, it does so over sockets, whatever its log says.",
                   "Look at the plugin; watch for longer (--seconds) if the job may be computing.");
  }
  const std::string fact =
      fmt::format("{} of {} EFA NICs moved data in {:.1f} s", job.traffic.size() - idle.size(),
                  job.traffic.size(), job.seconds);
  if (idle.empty()) return fine(fact);
  return warning(fmt::format("{}; idle: {}", fact, list_of(idle)),
                 "Bandwidth of idle NICs is lost.",
                 "See efa.device-nodes and gdr.closeness; FABRAIL_NICS and FI_EFA_IFACE leave NICs "
                 "out.");
}

Findings check_health(const Survey& survey) {
  std::vector<std::string> bad;
  for (const NicTraffic& nic : survey.job->traffic) {
    if (nic.errors > 0) bad.push_back(fmt::format("{} ({})", nic.device, nic.errors));
  }
  if (bad.empty()) return {};
  return warning(fmt::format("error counters grow: {}", list_of(bad)),
                 "Drops, failed writes, retransmissions and lost peers: a path or a peer is in "
                 "trouble.",
                 "Run `fabrail pair` between the machines of the job.");
}

constexpr std::array kChecks = {
    Check{"job.nccl", "Which NCCL has the process loaded?", check_nccl,
          "Reads /proc/PID/maps and the version in the mapped file."},
    Check{"job.plugin", "Which plugin has the process loaded?", check_plugin,
          "Looks for libnccl-net* in /proc/PID/maps. The plugin is loaded with the first "
          "communicator."},
    Check{"job.libfabric", "Which libfabric has the process loaded?", check_libfabric,
          "Looks for libfabric.so in /proc/PID/maps."},
    Check{"job.deleted", "Were libraries replaced under the process?", check_deleted,
          "Looks for mapped libraries that are marked as deleted."},
    Check{"job.traffic", "Do the NICs move data?", check_traffic,
          "Reads the byte counters of every EFA NIC twice (--seconds apart). Flat counters mean "
          "that EFA is not used, whatever logs say."},
    Check{"job.nic-errors", "Do error counters grow?", check_health,
          "Reads rx_drops, rdma_*_wr_err, retrans_timeout_events, impaired_remote_conn_events and "
          "unresponsive_remote_events twice."},
};

}  // namespace

std::span<const Check> job_checks() { return kChecks; }

}  // namespace fabrail::doctor
