// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The sender's view of the receives that its peer has posted: which one does the next message go
// to? Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "src/transport/messages.h"

namespace fabrail::transport {

/// Matches messages to announced receives in strict order, whatever order the announcements arrive
/// in.
///
/// Receives come in groups of 1 to 8 (one irecv). Only the head group, the oldest that is not
/// filled, is looked at: a message takes its first free receive with the message's tag. Messages
/// that left before the head group was known ("eager", at most kMaxEager) are matched first, in the
/// order in which they left; the receiver does the same with the same rule, so no message says
/// where it went.
class CtsWindow {
 public:
  enum class Insert : std::uint8_t { kTaken, kInvalid };

  /// Takes an announcement. kInvalid: outside the window, announced twice, or not of one mind with
  /// its group.
  Insert insert(const ClearToSend& message);

  /// An announced receive.
  struct Receive {
    std::uint64_t offset = 0;
    std::uint32_t region = 0;
    std::uint32_t length = 0;
    std::int32_t tag = 0;
    std::uint8_t group_size = 0;
    std::uint8_t group_index = 0;
    bool present = false;
  };

  /// The receive that a message with this tag goes to; null if the head group has none or is not
  /// known yet.
  [[nodiscard]] const Receive* match(std::int32_t tag) const;

  /// What the receiver calls the slot of a receive of the head group.
  [[nodiscard]] std::uint32_t slot_of(const Receive& receive) const {
    return (head_ + receive.group_index) % kWindow;
  }

  /// The message for `receive`, as match() returned it, has left.
  void consume(const Receive& receive);

  /// Whether a message may leave ahead of its receive: only while the head group is unknown.
  [[nodiscard]] bool may_send_eager() const { return !head_known_ && eager_count_ < kMaxEager; }

  /// A message left ahead of its receive.
  void note_eager(std::int32_t tag, std::uint32_t bytes);

  /// An eager message that turned out to be longer than its receive; at most one is kept.
  [[nodiscard]] const std::optional<Refuse>& oversize() const { return oversize_; }

  [[nodiscard]] bool head_known() const { return head_known_; }
  /// The first receive of the head group.
  [[nodiscard]] std::uint32_t head() const { return head_; }

 private:
  // Receives may be announced this far ahead: the receiver's window, and what it freed in the
  // meantime because eager messages filled it (the next power of two: sequence numbers wrap).
  static constexpr std::uint32_t kEntries = 2 * kWindow;
  static_assert(kEntries >= kWindow + kMaxEager);

  struct WaitingEager {
    std::int32_t tag = 0;
    std::uint32_t bytes = 0;
  };

  static std::uint32_t place_of(std::uint32_t sequence) { return sequence % kEntries; }
  [[nodiscard]] bool group_known() const;
  void settle();
  void place_eager();
  bool place_one(std::uint32_t index);
  void drop_eager(std::uint32_t index);
  void mark_used(std::uint32_t group_index);
  void advance();

  std::array<Receive, kEntries> entries_{};
  std::array<WaitingEager, kMaxEager> eager_{};
  std::optional<Refuse> oversize_;
  std::uint32_t eager_count_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t head_size_ = 0;  // receives in the head group, once known
  std::uint32_t used_ = 0;       // bit per receive of the head group
  bool head_known_ = false;
};

}  // namespace fabrail::transport
