// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Runs a command as a user would, and keeps what it has printed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace fabrail::test {

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
  bool left_processes = false;  ///< some process of it was still there after it had ended
};

/// A started command in a process group of its own.
class Command {
 public:
  /// `environment` holds NAME=VALUE entries, added to this process's own.
  Command(const std::vector<std::string>& arguments, const std::vector<std::string>& environment);
  Outcome wait();

 private:
  pid_t pid_;
  int out_;
  int err_;
};

Outcome run(const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment = {});

}  // namespace fabrail::test
