// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// A queue pair: its two halves, its state, and who may touch them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "tests/sim/efa/core/device.h"
#include "tests/sim/efa/core/receive_queue.h"
#include "tests/sim/efa/core/send_queue.h"

namespace fabrail::sim {

struct QueuePairOptions {
  bool reliable = true;
  bool unsolicited = false;  // a write with immediate takes no posted receive
  uint32_t pd = 0;
  uint32_t send_depth = 1;
  uint32_t receive_depth = 1;
  CompletionQueue* send_completions = nullptr;
  CompletionQueue* receive_completions = nullptr;
};

class QueuePair {
 public:
  /// Null on failure, with errno set (ENOMEM: no number is free).
  static std::unique_ptr<QueuePair> open(Device& device, const QueuePairOptions& options);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  uint32_t number() const { return identity_.qpn; }
  Device& device() { return device_; }
  bool reliable() const { return identity_.reliable; }

  /// Accepts all requests, or none: ENOMEM when the queue is full, EIO when the device is lost.
  int post_send(std::span<const WorkRequest> requests);
  int post_receive(const ReceiveRequest& request);

  void set_queue_key(uint32_t key) { state_->queue_key.store(key); }
  uint32_t queue_key() const { return state_->queue_key.load(); }
  void set_rnr_retry(uint32_t retries);
  /// Peers can reach the queue pair from now on.
  void start_receiving() { state_->phase.store(QpPhase::kReceiving, std::memory_order_seq_cst); }
  /// Everything posted, now or later, completes as flushed.
  void fail();

  /// For a poller: does what can be done without waiting, and a piece of a large transfer.
  /// False if nothing moved.
  bool progress();
  /// For the engine: the same, even if another thread is at it. Returns when to come again.
  uint64_t work();
  void arm();
  void completion_taken(const Completion& completion);

  void* handle = nullptr;

 private:
  QueuePair(Device& device, const QueuePairOptions& options, uint32_t qpn,
            SharedFile<QpState> state);
  uint64_t step(uint64_t now);
  bool has_arrivals() const { return receive_.pending() && !failed_; }
  bool transfer(std::unique_lock<std::mutex>& lock);
  void flush_if_lost();
  void disarm_if_idle();

  Device& device_;
  SharedFile<QpState> state_;
  QueuePairIdentity identity_;
  CompletionQueue& send_completions_;
  CompletionQueue& receive_completions_;
  std::mutex mutex_;
  SendQueue send_;        // guarded by mutex_
  ReceiveQueue receive_;  // guarded by mutex_
  bool failed_ = false;   // guarded by mutex_
  std::atomic<bool> armed_{false};
};

}  // namespace fabrail::sim
