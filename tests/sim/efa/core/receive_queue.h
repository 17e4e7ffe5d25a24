// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The receiving half of a queue pair: takes messages off the inbound rings into posted buffers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "tests/sim/efa/core/address_handles.h"
#include "tests/sim/efa/core/completion_queue.h"
#include "tests/sim/efa/core/ring.h"
#include "tests/sim/efa/core/send_queue.h"

namespace fabrail::sim {

/// Everything here is called with the queue pair's mutex held, except what is said to be callable
/// without.
class ReceiveQueue {
 public:
  ReceiveQueue(const QueuePairIdentity& identity, QpState& state, AddressHandles& handles,
               CompletionQueue& completions, uint32_t depth);
  ~ReceiveQueue();
  ReceiveQueue(const ReceiveQueue&) = delete;
  ReceiveQueue& operator=(const ReceiveQueue&) = delete;

  /// ENOMEM: the queue is full.
  int post(const ReceiveRequest& request);
  /// Takes what has arrived, up to a budget; the rest stays marked as pending.
  void step();
  void flush();
  /// Something has arrived. Callable without the mutex.
  bool pending() const { return state_.summary.load(std::memory_order_acquire) != 0; }

 private:
  void drain(uint32_t index);
  RingReader* open_ring(uint32_t index);
  void drop_ring(uint32_t index);
  void drop_rings_of_the_dead();
  Status deliver(const RingReader::Entry& entry);
  bool scatter(const ReceiveRequest& request, const RingReader::Entry& entry,
               Completion& completion);

  QueuePairIdentity identity_;
  QpState& state_;
  AddressHandles& handles_;
  CompletionQueue& completions_;
  uint32_t depth_;
  Random random_;
  std::deque<ReceiveRequest> posted_;
  std::map<uint32_t, RingReader> rings_;
};

}  // namespace fabrail::sim
