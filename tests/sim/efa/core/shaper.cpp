// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// A token bucket written as the time until which a link is booked.
#include "tests/sim/efa/core/shaper.h"

#include <algorithm>

namespace fabrail::sim {
namespace {

uint64_t cost_ns(uint64_t bytes, uint64_t rate) {
  return rate == 0 ? 0 : bytes * 1'000'000'000u / rate;  // pieces are small: no overflow
}

/// Moves the schedule on by `cost`; returns when the booked transfer is over.
uint64_t take(Direction& direction, uint64_t cost, uint64_t arrived) {
  uint64_t seen = direction.free_ns.load(std::memory_order_relaxed);
  uint64_t start = 0;
  do {
    start = std::max(seen, arrived);
  } while (!direction.free_ns.compare_exchange_weak(seen, start + cost, std::memory_order_relaxed));
  direction.busy_ns.fetch_add(cost, std::memory_order_relaxed);
  if (seen != 0) direction.idle_ns.fetch_add(start - seen, std::memory_order_relaxed);
  return start + cost;
}

}  // namespace

bool is_capped(const DeviceState& one, const DeviceState& other) {
  return one.shape.rate_bytes_per_s.load(std::memory_order_relaxed) != 0 ||
         other.shape.rate_bytes_per_s.load(std::memory_order_relaxed) != 0;
}

Grant book(DeviceState& sender, DeviceState& receiver, uint64_t bytes, uint64_t arrived,
           uint64_t now) {
  const uint64_t out = sender.shape.rate_bytes_per_s.load(std::memory_order_relaxed);
  const uint64_t in = receiver.shape.rate_bytes_per_s.load(std::memory_order_relaxed);
  if (out == 0 && in == 0) return {true, now, 0};
  Direction& sending = sender.link.transmit;
  Direction& receiving = receiver.link.receive;
  uint64_t start = arrived;
  if (out != 0) start = std::max(start, sending.free_ns.load(std::memory_order_relaxed));
  if (in != 0) start = std::max(start, receiving.free_ns.load(std::memory_order_relaxed));
  if (start > now + kLead) return {false, 0, start - kLead};
  uint64_t finish = arrived;
  if (out != 0) finish = std::max(finish, take(sending, cost_ns(bytes, out), arrived));
  if (in != 0) finish = std::max(finish, take(receiving, cost_ns(bytes, in), arrived));
  return {true, finish, 0};
}

uint64_t draw_latency(const DeviceState& sender, const DeviceState& receiver, Random& random) {
  const uint64_t fixed = std::max(sender.shape.latency_ns.load(std::memory_order_relaxed),
                                  receiver.shape.latency_ns.load(std::memory_order_relaxed));
  const uint64_t jitter = std::max(sender.shape.jitter_ns.load(std::memory_order_relaxed),
                                   receiver.shape.jitter_ns.load(std::memory_order_relaxed));
  return jitter == 0 ? fixed : fixed + random.below(jitter);
}

}  // namespace fabrail::sim
