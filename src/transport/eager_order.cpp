// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/eager_order.h"

namespace fabrail::transport {

namespace {

// Sequence numbers wrap: a receive is "at or after" another if it is less than half the circle
// ahead.
bool at_or_after(std::uint32_t sequence, std::uint32_t reference) {
  return static_cast<std::int32_t>(sequence - reference) >= 0;
}

}  // namespace

bool EagerOrder::keep(const HeldEager& message) {
  const std::uint32_t ahead = message.header.eager_sequence - next_;
  auto& place = early_[message.header.eager_sequence % kAhead];
  if (ahead >= kAhead || place.has_value()) return false;
  place = message;
  return true;
}

std::optional<HeldEager> EagerOrder::take_next() {
  auto& place = early_[next_ % kAhead];
  if (!place) return std::nullopt;
  const std::optional<HeldEager> message = place;
  place.reset();
  return message;
}

bool EagerOrder::wait(const HeldEager& message) {
  if (waiting_count_ == kMaxWaiting) return false;
  waiting_[waiting_count_++] = message;
  return true;
}

std::optional<HeldEager> EagerOrder::take_waiting(std::uint32_t group, std::int32_t tag) {
  for (std::uint32_t i = 0; i < waiting_count_; ++i) {
    if (waiting_[i].header.tag != tag || !at_or_after(group, waiting_[i].header.head)) continue;
    const HeldEager message = waiting_[i];
    for (std::uint32_t j = i + 1; j < waiting_count_; ++j) waiting_[j - 1] = waiting_[j];
    --waiting_count_;
    return message;
  }
  return std::nullopt;
}

}  // namespace fabrail::transport
