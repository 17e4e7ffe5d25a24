// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/messages.h"

#include "src/transport/message_parts.h"

namespace fabrail::transport {

ShortMessage encode(const ClearToSend& message) {
  return short_message([&](wire::Writer& writer) {
    put_prefix(writer, message, message.group_size, message.group_index);
    writer.put(message.sequence);
    writer.put(message.tag);
    writer.put(message.region);
    writer.put(message.length);
    writer.put(message.offset);
  });
}

std::optional<ClearToSend> decode_clear_to_send(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kClearToSend);
  if (!prefix) return std::nullopt;
  ClearToSend message{.group_size = prefix->a, .group_index = prefix->b, .comm = prefix->comm};
  message.sequence = reader.get<std::uint32_t>();
  message.tag = reader.get<std::int32_t>();
  message.region = reader.get<std::uint32_t>();
  message.length = reader.get<std::uint32_t>();
  message.offset = reader.get<std::uint64_t>();
  const bool group = message.group_size >= 1 && message.group_size <= kMaxGroup &&
                     message.group_index < message.group_size;
  if (!complete(reader) || !group || message.length > kMaxMessageBytes) return std::nullopt;
  return message;
}

std::size_t encode(const Region& message, std::span<std::byte> out) {
  wire::Writer writer(out);
  put_prefix(writer, message, message.rails, message.to_receiver ? 1 : 0);
  writer.put(message.region);
  writer.put(message.base);
  writer.put(message.length);
  for (std::size_t rail = 0; rail < message.rails; ++rail) writer.put(message.keys[rail]);
  return writer.ok() ? writer.used() : 0;
}

std::optional<Region> decode_region(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kRegion);
  if (!prefix || prefix->a == 0 || prefix->a > kMaxRails) return std::nullopt;
  Region message{.to_receiver = prefix->b != 0, .comm = prefix->comm, .rails = prefix->a};
  message.region = reader.get<std::uint32_t>();
  message.base = reader.get<std::uint64_t>();
  message.length = reader.get<std::uint64_t>();
  for (std::size_t rail = 0; rail < message.rails; ++rail)
    message.keys[rail] = reader.get<std::uint64_t>();
  if (!complete(reader)) return std::nullopt;
  return message;
}

void encode_eager_header(const Eager& message, std::span<std::byte, kEagerHeaderBytes> out) {
  wire::Writer writer(out);
  put_prefix(writer, message);
  writer.put(message.eager_sequence);
  writer.put(message.head);
  writer.put(message.tag);
}

std::optional<Eager> decode_eager(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kEager);
  if (!prefix) return std::nullopt;
  Eager message{.comm = prefix->comm};
  message.eager_sequence = reader.get<std::uint32_t>();
  message.head = reader.get<std::uint32_t>();
  message.tag = reader.get<std::int32_t>();
  if (!reader.ok()) return std::nullopt;
  return message;
}

ShortMessage encode(const Empty& message) {
  return short_message([&](wire::Writer& writer) {
    put_prefix(writer, message);
    writer.put(message.slot);
  });
}

std::optional<Empty> decode_empty(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kEmpty);
  if (!prefix) return std::nullopt;
  Empty message{.comm = prefix->comm};
  message.slot = reader.get<std::uint32_t>();
  if (!complete(reader) || message.slot >= kWindow) return std::nullopt;
  return message;
}

void encode_delivery_header(const Delivery& message,
                            std::span<std::byte, kDeliveryHeaderBytes> out) {
  wire::Writer writer(out);
  put_prefix(writer, message);
  writer.put(message.immediate);
}

std::optional<Delivery> decode_delivery(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kDelivery);
  if (!prefix) return std::nullopt;
  Delivery message{.comm = prefix->comm};
  message.immediate = reader.get<std::uint32_t>();
  if (!reader.ok()) return std::nullopt;
  return message;
}

ShortMessage encode(const Arrived& message) {
  return short_message([&](wire::Writer& writer) {
    put_prefix(writer, message);
    writer.put(message.immediate);
    writer.put(message.length);
  });
}

std::optional<Arrived> decode_arrived(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kArrived);
  if (!prefix) return std::nullopt;
  Arrived message{.comm = prefix->comm};
  message.immediate = reader.get<std::uint32_t>();
  message.length = reader.get<std::uint32_t>();
  if (!complete(reader)) return std::nullopt;
  return message;
}

ShortMessage encode(const Refuse& message) {
  return short_message([&](wire::Writer& writer) {
    put_prefix(writer, message, message.to_receiver ? 1 : 0);
    writer.put(message.message_bytes);
    writer.put(message.receive_bytes);
  });
}

std::optional<Refuse> decode_refuse(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kRefuse);
  if (!prefix) return std::nullopt;
  Refuse message{.to_receiver = prefix->a != 0, .comm = prefix->comm};
  message.message_bytes = reader.get<std::uint32_t>();
  message.receive_bytes = reader.get<std::uint32_t>();
  if (!complete(reader)) return std::nullopt;
  return message;
}

ShortMessage encode(const Close& message) {
  return short_message([&](wire::Writer& writer) {
    put_prefix(writer, message, message.to_receiver ? 1 : 0);
    writer.put(message.messages);
  });
}

std::optional<Close> decode_close(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kClose);
  if (!prefix) return std::nullopt;
  Close message{.to_receiver = prefix->a != 0, .comm = prefix->comm};
  message.messages = reader.get<std::uint64_t>();
  if (!complete(reader)) return std::nullopt;
  return message;
}

ShortMessage encode(const Revoke& message) {
  return short_message([&](wire::Writer& writer) { put_prefix(writer, message); });
}

std::optional<Revoke> decode_revoke(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kRevoke);
  if (!prefix || !complete(reader)) return std::nullopt;
  return Revoke{.comm = prefix->comm};
}

ShortMessage encode(const Revoked& message) {
  return short_message([&](wire::Writer& writer) { put_prefix(writer, message, message.rail); });
}

std::optional<Revoked> decode_revoked(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kRevoked);
  if (!prefix || !complete(reader) || prefix->a >= kMaxRails) return std::nullopt;
  return Revoked{.rail = prefix->a, .comm = prefix->comm};
}

ShortMessage encode(const Offer& message) {
  return short_message([&](wire::Writer& writer) {
    put_prefix(writer, message);
    writer.put(message.slot);
    writer.put(message.request);
    writer.put(message.bytes);
    writer.put(message.region);
    writer.put(message.offset);
  });
}

std::optional<Offer> decode_offer(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kOffer);
  if (!prefix) return std::nullopt;
  Offer message{.comm = prefix->comm};
  message.slot = reader.get<std::uint16_t>();
  message.request = reader.get<std::uint16_t>();
  message.bytes = reader.get<std::uint32_t>();
  message.region = reader.get<std::uint32_t>();
  message.offset = reader.get<std::uint64_t>();
  const bool valid = message.slot < kWindow && message.bytes - 1 < kMaxMessageBytes;
  if (!complete(reader) || !valid) return std::nullopt;
  return message;
}

ShortMessage encode(const Fetched& message) {
  return short_message([&](wire::Writer& writer) {
    put_prefix(writer, message);
    writer.put(message.request);
  });
}

std::optional<Fetched> decode_fetched(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kFetched);
  if (!prefix) return std::nullopt;
  Fetched message{.comm = prefix->comm};
  message.request = reader.get<std::uint32_t>();
  if (!complete(reader)) return std::nullopt;
  return message;
}

ShortMessage encode(const Withdraw& message) {
  return short_message([&](wire::Writer& writer) { put_prefix(writer, message); });
}

std::optional<Withdraw> decode_withdraw(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kWithdraw);
  if (!prefix || !complete(reader)) return std::nullopt;
  return Withdraw{.comm = prefix->comm};
}

ShortMessage encode(const Withdrawn& message) {
  return short_message([&](wire::Writer& writer) { put_prefix(writer, message); });
}

std::optional<Withdrawn> decode_withdrawn(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_prefix(reader, MessageKind::kWithdrawn);
  if (!prefix || !complete(reader)) return std::nullopt;
  return Withdrawn{.comm = prefix->comm};
}

ShortMessage encode(const Probe&) {
  return short_message([](wire::Writer& writer) { writer.put(raw(MessageKind::kProbe)); });
}

std::optional<MessageKind> kind_of(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto kind = reader.get<std::uint8_t>();
  if (kind < raw(MessageKind::kConnectRequest) || kind > raw(MessageKind::kProbe))
    return std::nullopt;
  return static_cast<MessageKind>(kind);
}

}  // namespace fabrail::transport
