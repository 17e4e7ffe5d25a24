// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Single-writer, single-reader byte ring with acknowledgements.
#include "tests/sim/efa/core/ring.h"

#include <cstring>

namespace fabrail::sim {
namespace {

uint32_t entry_bytes(uint32_t payload) {
  return (static_cast<uint32_t>(sizeof(MessageHeader)) + payload + kCacheLine - 1) &
         ~(kCacheLine - 1);
}

}  // namespace

static_assert(sizeof(MessageHeader) == kCacheLine && sizeof(RingState) % kCacheLine == 0);

size_t ring_file_bytes(uint32_t capacity) { return sizeof(RingState) + capacity; }

std::byte* RingWriter::reserve(uint32_t payload_bytes) {
  RingState& ring = *state_;
  const uint32_t need = entry_bytes(payload_bytes);
  const uint64_t tail = ring.tail.load(std::memory_order_relaxed);
  const uint32_t offset = static_cast<uint32_t>(tail & (ring.capacity - 1));
  const uint32_t padding = need > ring.capacity - offset ? ring.capacity - offset : 0;
  if (tail + padding + need - ring.head.load(std::memory_order_acquire) > ring.capacity)
    return nullptr;
  if (padding != 0) pad(tail, padding);
  reserved_at_ = tail + padding;
  return ring.data() + (reserved_at_ & (ring.capacity - 1)) + sizeof(MessageHeader);
}

// Published together with the entry that follows it.
void RingWriter::pad(uint64_t tail, uint32_t bytes) {
  MessageHeader header;
  header.entry_bytes = bytes;
  header.is_padding = 1;
  std::memcpy(state_->data() + (tail & (state_->capacity - 1)), &header, sizeof header);
}

void RingWriter::publish(const MessageHeader& header) {
  RingState& ring = *state_;
  MessageHeader complete = header;
  complete.entry_bytes = entry_bytes(header.payload_bytes);
  std::memcpy(ring.data() + (reserved_at_ & (ring.capacity - 1)), &complete, sizeof complete);
  ring.tail.store(reserved_at_ + complete.entry_bytes, std::memory_order_seq_cst);
}

std::optional<Acknowledgement> RingWriter::next_acknowledgement() {
  RingState& ring = *state_;
  const uint64_t head = ring.ack_head.load(std::memory_order_relaxed);
  if (head == ring.ack_tail.load(std::memory_order_acquire)) return std::nullopt;
  const Acknowledgement ack = ring.acks[head % RingState::kAcknowledgements];
  ring.ack_head.store(head + 1, std::memory_order_release);
  return ack;
}

const MessageHeader* RingReader::at(uint64_t position) const {
  return reinterpret_cast<const MessageHeader*>(state_->data() +
                                                (position & (state_->capacity - 1)));
}

std::optional<RingReader::Entry> RingReader::front() {
  RingState& ring = *state_;
  for (;;) {
    const uint64_t head = ring.head.load(std::memory_order_relaxed);
    if (head == ring.tail.load(std::memory_order_acquire)) return std::nullopt;
    const MessageHeader* header = at(head);
    if (header->is_padding == 0)
      return Entry{header, {reinterpret_cast<const std::byte*>(header + 1), header->payload_bytes}};
    ring.head.store(head + header->entry_bytes, std::memory_order_release);
  }
}

void RingReader::consume(Status status) {
  RingState& ring = *state_;
  const uint64_t head = ring.head.load(std::memory_order_relaxed);
  const MessageHeader* header = at(head);
  const uint32_t cookie = header->cookie;
  ring.head.store(head + header->entry_bytes, std::memory_order_release);
  if (cookie == kNoCookie) return;
  // Never overtakes ack_head: see kMaxUnacknowledged.
  const uint64_t tail = ring.ack_tail.load(std::memory_order_relaxed);
  ring.acks[tail % RingState::kAcknowledgements] = {cookie, static_cast<uint32_t>(status)};
  ring.ack_tail.store(tail + 1, std::memory_order_seq_cst);
}

}  // namespace fabrail::sim
