// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail doctor`: looks at the whole chain from driver to NCCL, offline, and says what is wrong.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "src/cli/doctor/system.h"

namespace CLI {
class App;
}

namespace fabrail::doctor {

/// What the command line says.
struct DoctorOptions {
  System system;         ///< the machine, an image's root folder, or a made-up one
  int pid = 0;           ///< a running process to look at; 0: none
  double seconds = 1.0;  ///< how long to watch NICs with `pid`
  std::string log;       ///< a log of NCCL to read instead; "-" is standard input
  std::string explain;   ///< a check to explain instead
  bool list = false;     ///< list the checks instead
  bool json = false;
  bool colour = false;
};

/// Runs the checks and writes the report.
///
/// Returns 0 if nothing is wrong, 1 with warnings, 2 if something is broken, 3 if the question
/// cannot be answered (no such file, process or check).
int run_doctor(const DoctorOptions& options, std::ostream& out);

/// Adds the subcommand `doctor` to `fabrail`; it stores what run_doctor returned in `exit_code`,
/// which must outlive the parsing.
void add_doctor_command(CLI::App& app, int& exit_code);

}  // namespace fabrail::doctor
