// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The thread that makes a process's NICs work on their own, as hardware does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/sim/efa/core/process_table.h"

namespace fabrail::sim {

class QueuePair;

/// Sleeps while nothing is under way; looks every kTick while something is. Started by the first
/// queue pair.
class Engine {
 public:
  /// `housekeeping` is called now and then while there is work, and when it ends.
  Engine(Membership& membership, std::function<void()> housekeeping);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void attach(QueuePair* queue_pair);
  /// When it returns, the engine does not touch the queue pair any more.
  void detach(QueuePair* queue_pair);

  /// There is work that cannot wait for the next tick.
  void kick();
  /// Something was posted: makes sure that the engine ticks.
  void mind() {
    if (dozing_.load(std::memory_order_seq_cst)) kick();
  }

 private:
  void run();
  uint64_t step();
  void sleep(uint32_t seen, uint64_t until);

  Membership& membership_;
  std::function<void()> housekeeping_;
  std::mutex mutex_;
  std::vector<QueuePair*> queue_pairs_;  // guarded by mutex_
  std::atomic<bool> stopping_{false};
  std::atomic<bool> dozing_{false};    // sleeps until a bell, without a tick
  std::atomic<bool> sleeping_{false};  // is in the futex call
  uint64_t last_work_ns_ = 0;
  uint64_t last_housekeeping_ns_ = 0;
  std::thread thread_;
};

}  // namespace fabrail::sim
