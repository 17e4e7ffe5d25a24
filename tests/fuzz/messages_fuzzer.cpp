// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Feeds arbitrary bytes to every decoder of what peers send, and arbitrary announcements to the
// matching behind them.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "src/transport/cts_window.h"
#include "src/transport/eager_order.h"
#include "src/transport/messages.h"

namespace {

using namespace fabrail::transport;

void require(bool condition) {
  if (!condition) std::abort();
}

// What decodes must be in bounds, and encode back to the same bytes.
void decode_announcement(std::span<const std::byte> bytes) {
  const auto message = decode_clear_to_send(bytes);
  if (!message) return;
  require(message->group_size >= 1 && message->group_size <= kMaxGroup &&
          message->group_index < message->group_size);
  const ShortMessage again = encode(*message);
  require(again.bytes == bytes.size() &&
          std::memcmp(again.data.data(), bytes.data(), bytes.size()) == 0);
}

void decode_all(std::span<const std::byte> bytes) {
  kind_of(bytes);
  decode_announcement(bytes);
  if (const auto region = decode_region(bytes))
    require(region->rails >= 1 && region->rails <= kMaxRails);
  if (const auto empty = decode_empty(bytes)) require(empty->slot < kWindow);
  if (decode_eager(bytes)) require(bytes.size() >= kEagerHeaderBytes);
  if (decode_delivery(bytes)) require(bytes.size() >= kDeliveryHeaderBytes);
  decode_arrived(bytes);
  decode_refuse(bytes);
  decode_close(bytes);
  decode_revoke(bytes);
  decode_revoked(bytes);
  decode_offer(bytes);
  decode_fetched(bytes);
  decode_withdraw(bytes);
  decode_withdrawn(bytes);
  if (const auto request = decode_connect_request(bytes); request && request->message) {
    for (const auto& address : request->message->party.addresses)
      require(address.size() <= kMaxAddressBytes);
  }
  decode_connect_reply(bytes);
}

void decode_as_handle(std::span<const std::byte> bytes) {
  std::array<std::byte, kHandleBytes> handle{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), handle.size()), handle.begin());
  const DecodedHandle decoded = decode_handle(handle);
  if (decoded.fault == HandleFault::kNone)
    require(decoded.handle.address.size() <= kMaxAddressBytes);
}

// A peer may announce anything in any order: the window stays consistent, and never matches what it
// must not.
void announce(std::span<const std::byte> bytes) {
  CtsWindow window;
  EagerOrder order;
  std::uint32_t eager = 0;
  while (bytes.size() >= 8) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    const ClearToSend cts{.group_size = static_cast<std::uint8_t>(1 + byte(1) % kMaxGroup),
                          .group_index = static_cast<std::uint8_t>(byte(2) % kMaxGroup),
                          .comm = 0,
                          .sequence = window.head() + byte(3) - 4u,
                          .tag = byte(4) % 3,
                          .region = byte(5) % 2u,
                          .length = byte(6),
                          .offset = 0};
    if (byte(0) % 4 == 0) window.insert(cts);
    if (byte(0) % 4 == 2 && window.may_send_eager()) window.note_eager(byte(4) % 3, byte(6));
    if (const auto* receive = window.match(byte(7) % 3)) {
      require(receive->tag == byte(7) % 3);
      window.consume(*receive);
    }
    HeldEager held{
        .header = {
            .comm = 0, .eager_sequence = eager + byte(1), .head = byte(3), .tag = byte(4) % 3}};
    if (order.is_next(held.header.eager_sequence)) {
      order.step();
      ++eager;
      order.wait(held);
    } else {
      order.keep(held);
    }
    order.take_waiting(byte(2), byte(7) % 3);
    bytes = bytes.subspan(8);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  decode_all(bytes);
  decode_as_handle(bytes);
  announce(bytes);
  return 0;
}
