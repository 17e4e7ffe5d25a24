// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A running process of a job: what it has mapped, its limits, and what the NICs move meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/cli/doctor/system.h"

namespace fabrail::doctor {

/// What one NIC moved between two readings.
struct NicTraffic {
  std::string device;
  std::int64_t bytes = 0;
  std::int64_t errors = 0;  ///< drops, write errors, retransmission timeouts, lost peers
};

struct RunningJob {
  int pid = 0;
  std::string command;              ///< its name
  std::vector<std::string> mapped;  ///< paths of mapped files, each once, in order
  std::string limits;               ///< /proc/PID/limits
  std::string status;               ///< /proc/PID/status
  double seconds = 0;               ///< between the readings of `traffic`
  std::vector<NicTraffic> traffic;
};

/// The paths of the files in a maps file of /proc; deleted files keep their mark.
std::vector<std::string> mapped_files(std::string_view maps);

/// Reads a process through `system`, watching the NICs for `seconds`.
///
/// Errors  kSystem if the process is gone or may not be read.
Result<RunningJob> read_running_job(const System& system, int pid, double seconds);

/// The system as process `pid` sees it: its root folder and its environment.
System system_of(const System& system, int pid);

}  // namespace fabrail::doctor
