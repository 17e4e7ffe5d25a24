// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Completions in, completions out, events.
#include "tests/sim/efa/core/completion_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "tests/sim/efa/core/queue_pair.h"

namespace fabrail::sim {

EventChannel::EventChannel() : fd_(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {}

EventChannel::~EventChannel() { close(fd_); }

void EventChannel::raise(CompletionQueue* queue) {
  const std::lock_guard lock(mutex_);
  events_.push_back(queue);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
}

CompletionQueue* EventChannel::wait() {
  for (;;) {
    uint64_t value = 0;
    if (read(fd_, &value, sizeof value) != sizeof value) return nullptr;
    const std::lock_guard lock(mutex_);
    if (events_.empty()) continue;  // its queue was destroyed
    CompletionQueue* queue = events_.front();
    events_.pop_front();
    return queue;
  }
}

void EventChannel::forget(const CompletionQueue* queue) {
  const std::lock_guard lock(mutex_);
  std::erase(events_, queue);
}

void CompletionQueue::push(const Completion& completion, uint32_t shuffle_window, Random& random) {
  {
    const std::lock_guard lock(mutex_);
    if (completions_.size() >= capacity_) {
      if (!overran_.exchange(true) && on_overrun) on_overrun();
      return;
    }
    const size_t passed = random.below(std::min<size_t>(shuffle_window, completions_.size()) + 1);
    completions_.insert(completions_.end() - static_cast<std::ptrdiff_t>(passed), completion);
    waiting_.store(completions_.size(), std::memory_order_release);
  }
  if (armed_.load(std::memory_order_relaxed)) raise_event();
}

bool CompletionQueue::pop(Completion& completion) {
  if (waiting_.load(std::memory_order_acquire) == 0) return false;
  {
    const std::lock_guard lock(mutex_);
    if (completions_.empty()) return false;
    completion = completions_.front();
    completions_.pop_front();
    waiting_.store(completions_.size(), std::memory_order_release);
  }
  completion.queue_pair->completion_taken(completion);
  return true;
}

bool CompletionQueue::progress() {
  bool advanced = false;
  for (QueuePair* queue_pair : queue_pairs_) advanced |= queue_pair->progress();
  return advanced;
}

void CompletionQueue::arm() {
  const std::lock_guard lock(poll_mutex);
  armed_.store(true);
  for (QueuePair* queue_pair : queue_pairs_) queue_pair->arm();
}

void CompletionQueue::raise_event() {
  if (channel_ != nullptr && armed_.exchange(false)) channel_->raise(this);
}

void CompletionQueue::attach(QueuePair* queue_pair) {
  const std::lock_guard lock(poll_mutex);
  if (std::find(queue_pairs_.begin(), queue_pairs_.end(), queue_pair) == queue_pairs_.end())
    queue_pairs_.push_back(queue_pair);
}

void CompletionQueue::detach(QueuePair* queue_pair) {
  const std::lock_guard poll_lock(poll_mutex);
  std::erase(queue_pairs_, queue_pair);
  const std::lock_guard lock(mutex_);
  std::erase_if(completions_, [&](const Completion& c) { return c.queue_pair == queue_pair; });
  waiting_.store(completions_.size());
}

bool CompletionQueue::in_use() {
  const std::lock_guard lock(poll_mutex);
  return !queue_pairs_.empty();
}

}  // namespace fabrail::sim
