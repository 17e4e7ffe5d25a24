// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The engine thread: steps all queue pairs, sleeps on the process's bell.
#include "tests/sim/efa/core/engine.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "tests/sim/efa/core/clock.h"
#include "tests/sim/efa/core/queue_pair.h"

namespace fabrail::sim {
namespace {

constexpr uint64_t kTick = 2 * kMillisecond;
constexpr uint64_t kDozeAfter = 50 * kMillisecond;
constexpr uint64_t kHousekeepEvery = 200 * kMillisecond;

}  // namespace

Engine::Engine(Membership& membership, std::function<void()> housekeeping)
    : membership_(membership), housekeeping_(std::move(housekeeping)) {}

Engine::~Engine() {
  stopping_ = true;
  kick();
  if (thread_.joinable()) thread_.join();
}

void Engine::attach(QueuePair* queue_pair) {
  const std::lock_guard lock(mutex_);
  queue_pairs_.push_back(queue_pair);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void Engine::detach(QueuePair* queue_pair) {
  const std::lock_guard lock(mutex_);
  std::erase(queue_pairs_, queue_pair);
}

void Engine::kick() {
  std::atomic<uint32_t>& bell = membership_.bell();
  bell.fetch_add(1, std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst))
    syscall(SYS_futex, &bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Engine::run() {
  while (!stopping_) {
    const uint32_t seen = membership_.bell().load(std::memory_order_seq_cst);
    const uint64_t now = now_ns();
    uint64_t next = step();
    if (next != kNever) last_work_ns_ = now;
    const bool quiet = next == kNever && now - last_work_ns_ > kDozeAfter;
    // A process that dozed was woken for a reason: perhaps a knob was turned.
    if (now - last_housekeeping_ns_ > kHousekeepEvery || quiet) {
      last_housekeeping_ns_ = now;
      housekeeping_();
    }
    if (!quiet) {
      dozing_ = false;
      sleep(seen, std::min(next, now + kTick));
    } else if (dozing_.exchange(true, std::memory_order_seq_cst)) {
      sleep(seen, kNever);
    }  // else once more: something may have been posted before dozing_ was seen
  }
}

uint64_t Engine::step() {
  const std::lock_guard lock(mutex_);
  uint64_t next = kNever;
  for (QueuePair* queue_pair : queue_pairs_) next = std::min(next, queue_pair->work());
  return next;
}

void Engine::sleep(uint32_t seen, uint64_t until) {
  const uint64_t now = now_ns();
  if (until <= now) return;
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>((until - now) / 1'000'000'000u);
  timeout.tv_nsec = static_cast<long>((until - now) % 1'000'000'000u);
  sleeping_.store(true, std::memory_order_seq_cst);
  syscall(SYS_futex, &membership_.bell(), FUTEX_WAIT, seen, until == kNever ? nullptr : &timeout,
          nullptr, 0);
  sleeping_.store(false, std::memory_order_seq_cst);
}

}  // namespace fabrail::sim
