// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// A completion queue and its event channel.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "tests/sim/efa/core/random.h"
#include "tests/sim/efa/core/work_request.h"

namespace fabrail::sim {

class CompletionQueue;

/// Where armed queues report: a descriptor that becomes readable, one event per arming.
class EventChannel {
 public:
  EventChannel();
  ~EventChannel();
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  int fd() const { return fd_; }
  void raise(CompletionQueue* queue);
  /// Blocks until an event is there (unless the descriptor is non-blocking: null with errno
  /// EAGAIN).
  CompletionQueue* wait();
  void forget(const CompletionQueue* queue);

 private:
  int fd_;
  std::mutex mutex_;
  std::deque<CompletionQueue*> events_;
};

/// Lock order: poll_mutex, then the mutex of a queue pair, then the queue's own.
class CompletionQueue {
 public:
  CompletionQueue(uint32_t capacity, EventChannel* channel)
      : capacity_(capacity), channel_(channel) {}

  /// Adds a completion; with a shuffle window it may overtake up to that many that wait.
  void push(const Completion& completion, uint32_t shuffle_window, Random& random);

  /// Takes the oldest completion. The caller holds poll_mutex.
  bool pop(Completion& completion);

  /// Lets the queue pairs of this queue do what can be done now; false if there was nothing. The
  /// caller holds poll_mutex.
  bool progress();

  /// The next completion raises an event.
  void arm();
  bool armed() const { return armed_.load(std::memory_order_relaxed); }

  void attach(QueuePair* queue_pair);
  /// Drops the queue pair and the completions that it left.
  void detach(QueuePair* queue_pair);
  bool in_use();

  uint32_t capacity() const { return capacity_; }
  /// Called once, when completions are lost because the queue is full. Set before the queue is
  /// used.
  std::function<void()> on_overrun;
  EventChannel* channel() const { return channel_; }

  std::mutex poll_mutex;  // held from a successful start_poll to end_poll
  void* handle = nullptr;

 private:
  void raise_event();

  const uint32_t capacity_;
  EventChannel* const channel_;
  std::atomic<bool> armed_{false};
  std::atomic<bool> overran_{false};
  std::vector<QueuePair*> queue_pairs_;  // guarded by poll_mutex
  std::mutex mutex_;
  std::deque<Completion> completions_;  // guarded by mutex_
  std::atomic<size_t> waiting_{0};      // size of completions_, to look without the lock
};

}  // namespace fabrail::sim
