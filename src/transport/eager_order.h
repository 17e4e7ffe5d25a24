// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The receiver's counterpart of CtsWindow: puts eager messages into the order in which they left
// and remembers those that no receive has taken yet. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "src/transport/messages.h"

namespace fabrail::transport {

/// A received eager message whose payload is kept somewhere.
struct HeldEager {
  Eager header;
  std::uint32_t bytes = 0;
  std::int32_t storage = -1;  ///< where the owner keeps the payload
};

/// Sequences eager messages. The owner offers each message with arrive(), then takes with
/// next_in_order() what has its turn; what finds no receive it hands back with wait(), and asks
/// again for each new group of receives.
class EagerOrder {
 public:
  /// How far a message may overtake an earlier one. The sender has at most kMaxEager that its peer
  /// has not announced a receive for; those announced long ago can still be on their way.
  static constexpr std::uint32_t kAhead = 4 * kMaxEager;

  /// Whether this message is the next in order: then it needs no storage before it is looked at.
  [[nodiscard]] bool is_next(std::uint32_t sequence) const { return sequence == next_; }
  /// The message that is_next() was about is dealt with.
  void step() { ++next_; }

  /// Keeps a message that came before its turn; false if that is beyond what a correct sender does.
  bool keep(const HeldEager& message);
  /// Takes the message whose turn it is, if it has arrived.
  std::optional<HeldEager> take_next();

  /// Keeps a message, in order, that no posted receive matched; false as with keep().
  bool wait(const HeldEager& message);
  /// Takes the first waiting message that a receive of the group that starts at `group` with this
  /// tag gets.
  std::optional<HeldEager> take_waiting(std::uint32_t group, std::int32_t tag);

  [[nodiscard]] bool any_waiting() const { return waiting_count_ != 0; }

  /// Calls `visit(storage)` for every payload still held.
  template <typename Visit>
  void for_each_storage(Visit&& visit) const {
    for (const auto& held : early_) {
      if (held) visit(held->storage);
    }
    for (std::uint32_t i = 0; i < waiting_count_; ++i) visit(waiting_[i].storage);
  }

 private:
  std::array<std::optional<HeldEager>, kAhead> early_{};
  // A sender never has more than kMaxEager unmatched; twice that leaves room for those crossing its
  // news.
  static constexpr std::uint32_t kMaxWaiting = 2 * kMaxEager;
  std::array<HeldEager, kMaxWaiting> waiting_{};
  std::uint32_t waiting_count_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace fabrail::transport
