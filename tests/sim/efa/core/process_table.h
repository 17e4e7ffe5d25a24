// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Who takes part in a fabric: joining, liveness, wake-up, and the hazards that make deregistration
// safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/sim/efa/core/layout.h"

namespace fabrail::sim {

/// This process's membership. A process joins a fabric once; the kernel ends the membership when it
/// dies.
class Membership {
 public:
  /// Joins through `<directory>/processes`; null on failure, with errno set.
  static std::unique_ptr<Membership> join(const std::string& directory);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  ProcessToken token() const { return token_; }
  std::atomic<uint32_t>& bell() { return entry().bell; }

  /// True while the process that had this token lives. A zombie is dead.
  bool alive(ProcessToken token) const;

  /// Wakes the engine of another process (or of this one).
  void ring(ProcessToken token);

  /// Says that the calling thread is about to use a region, until the guard goes away.
  class Hazard {
   public:
    Hazard(Membership& membership, uint64_t region);
    ~Hazard();
    Hazard(const Hazard&) = delete;
    Hazard& operator=(const Hazard&) = delete;

   private:
    std::atomic<uint64_t>* slot_ = nullptr;
  };

  /// Returns when no living process uses the region any more.
  void wait_until_unused(uint64_t region);

 private:
  Membership(SharedFile<ProcessTable> table, int fd, uint32_t index);
  ProcessTable::Entry& entry() { return table_->entries[index_]; }

  SharedFile<ProcessTable> table_;
  int fd_;
  uint32_t index_;
  ProcessToken token_;
};

/// Wakes every process of the fabric, after a knob was turned.
void ring_all(ProcessTable& table);

}  // namespace fabrail::sim
