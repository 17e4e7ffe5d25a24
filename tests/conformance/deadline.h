// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Waiting by polling, as NCCL waits: a deadline says when a call that should have led somewhere
// counts as hung. Nothing is asserted about how long things take below it.
#pragma once

#include <sched.h>

#include <chrono>

namespace fabrail::conformance {

inline constexpr std::chrono::seconds kPatience{45};

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds patience = kPatience)
      : end_(std::chrono::steady_clock::now() + patience) {}
  bool passed() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

/// Gives up the processor now and then. Not at every poll: where more programs run than there are
/// processors, each time may cost a whole round of the scheduler.
class Politeness {
 public:
  void poll_was_idle() {
    if (++polls_ % kPollsPerYield == 0) sched_yield();
  }

 private:
  static constexpr unsigned kPollsPerYield = 256;
  unsigned polls_ = 0;
};

/// Calls `ready` until it returns true; false when the deadline came first.
template <class Ready>
bool poll_until(Ready&& ready, const Deadline& deadline = Deadline()) {
  Politeness politeness;
  while (!ready()) {
    if (deadline.passed()) return false;
    politeness.poll_was_idle();
  }
  return true;
}

/// Calls `step` again and again for `span`: to give something forbidden the time to happen.
template <class Step>
void poll_for(std::chrono::milliseconds span, Step&& step) {
  const Deadline end(span);
  Politeness politeness;
  while (!end.passed()) {
    step();
    politeness.poll_was_idle();
  }
}

}  // namespace fabrail::conformance
