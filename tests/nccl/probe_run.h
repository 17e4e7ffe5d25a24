// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Runs nccl_loader_probe in a process of its own (NCCL's loader keeps state for good) and hands
// back its report.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/nccl/libraries.h"

namespace fabrail::nccl_test {

/// What a run of the probe left.
struct ProbeResult {
  int exit_code = -1;     ///< 77: this libnccl cannot be driven; -1: a signal ended it
  int signal = 0;         ///< that signal, 0 if none
  nlohmann::json report;  ///< null unless exit_code is 0; see probe/main.cpp
  std::string errors;     ///< its standard error

  const nlohmann::json& cycle(size_t index) const { return report.at("cycles").at(index); }
  /// How many lines of NCCL's log contain `text`.
  int lines_with(std::string_view text) const;
  /// The log and what the probe complained of, for failure messages.
  std::string story() const;
};

/// A directory that exists as long as this object, first in the probe's LD_LIBRARY_PATH.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  const std::filesystem::path& path() const { return path_; }
  /// Makes `target` findable as `name`.
  void link(const std::string& name, const std::filesystem::path& target) const;

 private:
  std::filesystem::path path_;
};

/// Runs the probe in `scratch` and waits for its end.
///
/// `environment`  added to a fixed, small one: nothing that NCCL, fabrail or libfabric would read
/// is
///                inherited.
ProbeResult run_probe(const Library& library, const Scratch& scratch,
                      const Environment& environment, const std::vector<std::string>& arguments);

}  // namespace fabrail::nccl_test
