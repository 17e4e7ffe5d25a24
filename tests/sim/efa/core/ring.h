// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The wire between one sending and one receiving queue pair: a byte ring with one writer and one
// reader.
//
// One ring per sender: a sender that is killed half way leaves an entry that nobody sees, and
// blocks nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "tests/sim/efa/core/layout.h"
#include "tests/sim/efa/core/status.h"

namespace fabrail::sim {

/// A sender has at most this many entries unanswered, so that the table of answers never overflows.
inline constexpr uint32_t kMaxUnacknowledged = RingState::kAcknowledgements;

/// No acknowledgement wanted (UD).
inline constexpr uint32_t kNoCookie = 0xffffffff;

/// What precedes the bytes of a message.
struct alignas(kCacheLine) MessageHeader {
  uint32_t entry_bytes = 0;  // header, payload and padding
  uint32_t payload_bytes = 0;
  uint32_t cookie = kNoCookie;
  uint32_t is_padding = 0;  // fills the ring up to its end
  uint32_t bytes = 0;       // of the message or of the write that it announces
  uint32_t immediate = 0;
  uint32_t queue_key = 0;
  uint32_t source_qpn = 0;
  uint32_t source_node_device = 0;  // Address::packed()
  uint8_t has_immediate = 0;
  uint8_t announces_write = 0;
  uint64_t written_address = 0;  // where, if the target has not been told; else 0
};

/// The writing end. The caller serialises.
class RingWriter {
 public:
  explicit RingWriter(SharedFile<RingState> state) : state_(std::move(state)) {}

  /// Room for a payload, or null while the ring is full. The bytes count only after publish().
  std::byte* reserve(uint32_t payload_bytes);
  void publish(const MessageHeader& header);

  std::optional<Acknowledgement> next_acknowledgement();
  /// While set, the receiver rings the sender's bell when it acknowledges.
  void arm(bool armed) { state_->sender_armed.store(armed ? 1 : 0, std::memory_order_seq_cst); }
  void close() { state_->closed.store(1, std::memory_order_seq_cst); }

 private:
  void pad(uint64_t tail, uint32_t bytes);

  SharedFile<RingState> state_;
  uint64_t reserved_at_ = 0;
};

/// The reading end. The caller serialises.
class RingReader {
 public:
  explicit RingReader(SharedFile<RingState> state) : state_(std::move(state)) {}

  struct Entry {
    const MessageHeader* header;
    std::span<const std::byte> payload;
  };
  /// The oldest entry, left in place.
  std::optional<Entry> front();
  /// Takes the oldest entry out; with a cookie, tells the sender how it went.
  void consume(Status status);
  /// Rings the sender's bell? True if it asked for that; asked once per batch.
  bool sender_waits() const { return state_->sender_armed.load(std::memory_order_seq_cst) != 0; }
  bool closed() const { return state_->closed.load(std::memory_order_acquire) != 0; }
  ProcessToken sender() const { return state_->sender; }

 private:
  const MessageHeader* at(uint64_t position) const;

  SharedFile<RingState> state_;
};

/// Bytes of a ring file with this payload capacity.
size_t ring_file_bytes(uint32_t capacity);

}  // namespace fabrail::sim
