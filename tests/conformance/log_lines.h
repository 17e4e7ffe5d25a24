// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The log callback that the suite hands to the plugin: keeps what was said, for assertions and for
// the report of a failed test.
#pragma once

#include <string>
#include <vector>

#include "include/nccl_net_abi.h"

namespace fabrail::conformance {

struct LogLine {
  nccl_net_log_level_t level;
  std::string text;
};

/// Callable from any thread, as NCCL's is.
void log_line(nccl_net_log_level_t level, unsigned long flags, const char* file_or_function,
              int line, const char* format, ...) __attribute__((format(printf, 5, 6)));

/// What was logged since the last `forget_log`, oldest first.
std::vector<LogLine> logged_lines();
int logged_warnings();
void forget_log();

}  // namespace fabrail::conformance
