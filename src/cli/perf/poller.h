// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How perf waits: calls again and again, and gives the core away when nothing has moved.
#pragma once

#include <sched.h>

#include <cstdint>

#include "src/cli/common/rendezvous.h"

namespace fabrail::cli::perf {

/// Yields like NCCL's proxy thread, because ranks may share a core, and looks now and then whether
/// the other ranks are still there.
class Poller {
 public:
  explicit Poller(const Rendezvous& rendezvous) : rendezvous_(rendezvous) {}

  /// Calls `step` until it returns true.
  template <class Step>
  void until(Step&& step) {
    while (!step()) idle();
  }

  /// To be called where a round of polling has found nothing.
  void idle() {
    sched_yield();
    if (++idle_rounds_ % kRoundsPerCheck == 0) rendezvous_.check_alive();
  }

 private:
  static constexpr uint64_t kRoundsPerCheck = 4096;
  const Rendezvous& rendezvous_;
  uint64_t idle_rounds_ = 0;
};

}  // namespace fabrail::cli::perf
