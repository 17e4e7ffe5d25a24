// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the encoders and decoders of control messages have in common.
#pragma once

#include <optional>

#include "src/base/wire.h"
#include "src/transport/messages.h"

namespace fabrail::transport {

constexpr std::uint8_t raw(MessageKind kind) { return static_cast<std::uint8_t>(kind); }

// Kind, two small arguments and the communicator: the first eight bytes of most messages.
template <typename Message>
void put_prefix(wire::Writer& writer, const Message& message, std::uint8_t a = 0,
                std::uint8_t b = 0) {
  writer.put(raw(Message::kKind));
  writer.put(a);
  writer.put(b);
  writer.put(std::uint8_t{0});
  writer.put(message.comm);
}

struct Prefix {
  std::uint8_t a = 0;
  std::uint8_t b = 0;
  CommName comm = 0;
};

inline std::optional<Prefix> get_prefix(wire::Reader& reader, MessageKind kind) {
  const bool right = reader.get<std::uint8_t>() == raw(kind);
  Prefix prefix;
  prefix.a = reader.get<std::uint8_t>();
  prefix.b = reader.get<std::uint8_t>();
  const bool zero = reader.get<std::uint8_t>() == 0;
  prefix.comm = reader.get<CommName>();
  if (!right || !zero || !reader.ok()) return std::nullopt;
  return prefix;
}

template <typename Fill>
ShortMessage short_message(Fill&& fill) {
  ShortMessage result;
  wire::Writer writer(result.data);
  fill(writer);
  result.bytes = static_cast<std::uint8_t>(writer.used());
  return result;
}

inline bool complete(const wire::Reader& reader) { return reader.ok() && reader.rest().empty(); }

}  // namespace fabrail::transport
