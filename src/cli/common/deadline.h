// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The deadline of a step: ends a stuck rank with a message that says where it was.
#pragma once

#include <string>
#include <string_view>

namespace fabrail::cli {

/// A timer signal rather than a check in the loops: it also ends a call into the plugin that never
/// returns. One instance per process, alive until the process ends.
class Deadline {
 public:
  static constexpr int kExitCode = 3;

  /// `who` begins the message ("fabrail perf: rank 1"), `hint` ends it.
  Deadline(std::string who, std::string hint, int seconds);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  /// Names the step that begins now, and gives it the whole time.
  void enter(std::string_view step);

  /// Ends the step: what follows has limits of its own.
  void leave();

 private:
  std::string who_;
  std::string hint_;
  int seconds_;
};

}  // namespace fabrail::cli
