// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The messages of a connection being made, and the handle that NCCL carries before it.
#include <algorithm>
#include <cstring>

#include "src/transport/message_parts.h"

namespace fabrail::transport {

namespace {

// In front of connection messages, so that other programs' traffic on our ports is told from ours.
constexpr std::uint32_t kConnectMagic = 0x6c724246;         // "FBrl"
constexpr std::uint64_t kHandleMagic = 0x656c646e48424166;  // "fABHndle"
constexpr std::size_t kScratchOffset = kHandleBytes - sizeof(std::uint64_t);

// Bits of a party's abilities.
constexpr unsigned kWrites = 1;
constexpr unsigned kReads = 2;

void put_text(wire::Writer& writer, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text)).first(std::min(text.size(), kMaxNameBytes));
  writer.put(static_cast<std::uint8_t>(bytes.size()));
  writer.put_bytes(bytes);
}

// Text from a peer ends up in logs: anything but printable ASCII becomes '?'.
void append_printable(std::span<const std::byte> bytes, std::string& text) {
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    text += c >= ' ' && c <= '~' ? c : '?';
  }
}

bool get_text(wire::Reader& reader, std::string& text) {
  const std::size_t length = reader.get<std::uint8_t>();
  if (length > kMaxNameBytes) return false;
  append_printable(reader.take(length), text);
  return reader.ok();
}

void put_identity(wire::Writer& writer, const ProcessIdentity& identity) {
  writer.put(identity.host);
  writer.put(identity.pid);
  writer.put(identity.start);
}

ProcessIdentity get_identity(wire::Reader& reader) {
  ProcessIdentity identity;
  identity.host = reader.get<std::uint64_t>();
  identity.pid = reader.get<std::uint32_t>();
  identity.start = reader.get<std::uint64_t>();
  return identity;
}

// Fields of a party's terms: a tag, a length, that many bytes. Tags are never used again for
// anything else.
constexpr std::uint8_t kVersionField = 1;
constexpr std::uint8_t kGpuDirectField = 2;
constexpr std::uint8_t kProtocolsField = 3;

void put_field(wire::Writer& writer, std::uint8_t tag, std::uint8_t value) {
  if (value == 0) return;
  writer.put(tag);
  writer.put(std::uint8_t{1});
  writer.put(value);
}

void put_terms(wire::Writer& writer, const Terms& terms) {
  if (!terms.version.empty()) {
    writer.put(kVersionField);
    put_text(writer, terms.version);
  }
  put_field(writer, kGpuDirectField, static_cast<std::uint8_t>(terms.gpudirect));
  put_field(writer, kProtocolsField, terms.protocols);
}

void take_field(std::uint8_t tag, std::span<const std::byte> bytes, Terms& terms) {
  const auto number = bytes.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(bytes[0]);
  if (tag == kVersionField) {
    terms.version.clear();
    append_printable(bytes.first(std::min(bytes.size(), kMaxNameBytes)), terms.version);
  } else if (tag == kGpuDirectField && number <= static_cast<unsigned>(Terms::GpuDirect::kYes)) {
    terms.gpudirect = static_cast<Terms::GpuDirect>(number);
  } else if (tag == kProtocolsField) {
    terms.protocols = number;
  }
}

// To the end of the message.
bool get_terms(wire::Reader& reader, Terms& terms) {
  while (reader.ok() && !reader.rest().empty()) {
    const auto tag = reader.get<std::uint8_t>();
    const auto bytes = reader.take(reader.get<std::uint8_t>());
    if (reader.ok()) take_field(tag, bytes, terms);
  }
  return reader.ok();
}

void put_party(wire::Writer& writer, const Party& party) {
  put_identity(writer, party.identity);
  put_text(writer, party.host);
  put_text(writer, party.provider);
  writer.put(static_cast<std::uint8_t>((party.writes ? kWrites : 0) | (party.reads ? kReads : 0)));
  writer.put(static_cast<std::uint8_t>(party.addresses.size()));
  for (const auto& address : party.addresses) {
    writer.put(static_cast<std::uint8_t>(address.size()));
    writer.put_bytes(address);
  }
  put_terms(writer, party.terms);
}

bool get_address(wire::Reader& reader, std::vector<std::byte>& address) {
  const std::size_t length = reader.get<std::uint8_t>();
  if (length == 0 || length > kMaxAddressBytes) return false;
  const auto bytes = reader.take(length);
  address.assign(bytes.begin(), bytes.end());
  return reader.ok();
}

bool get_party(wire::Reader& reader, Party& party) {
  party.identity = get_identity(reader);
  if (!get_text(reader, party.host) || !get_text(reader, party.provider)) return false;
  const unsigned abilities = reader.get<std::uint8_t>();
  party.writes = (abilities & kWrites) != 0;
  party.reads = (abilities & kReads) != 0;
  const std::size_t rails = reader.get<std::uint8_t>();
  if (rails == 0 || rails > kMaxRails) return false;
  party.addresses.resize(rails);
  return std::all_of(party.addresses.begin(), party.addresses.end(),
                     [&](auto& address) { return get_address(reader, address); }) &&
         get_terms(reader, party.terms);
}

// What every version of a connection message starts with.
void put_connect_prefix(wire::Writer& writer, MessageKind kind, std::uint8_t argument,
                        CommName send_comm) {
  writer.put(raw(kind));
  writer.put(kProtocolVersion);
  writer.put(argument);
  writer.put(std::uint8_t{0});
  writer.put(kConnectMagic);
  writer.put(send_comm);
}

struct ConnectPrefix {
  std::uint8_t version = 0;
  std::uint8_t argument = 0;
  CommName send_comm = 0;
};

std::optional<ConnectPrefix> get_connect_prefix(wire::Reader& reader, MessageKind kind) {
  ConnectPrefix prefix;
  const bool right = reader.get<std::uint8_t>() == raw(kind);
  prefix.version = reader.get<std::uint8_t>();
  prefix.argument = reader.get<std::uint8_t>();
  reader.get<std::uint8_t>();
  const bool ours = reader.get<std::uint32_t>() == kConnectMagic;
  prefix.send_comm = reader.get<CommName>();
  if (!right || !ours || !reader.ok()) return std::nullopt;
  return prefix;
}

// FNV-1a over the part of a handle that never changes.
std::uint32_t checksum(std::span<const std::byte> bytes) {
  std::uint32_t hash = 2166136261u;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint32_t>(byte)) * 16777619u;
  return hash;
}

constexpr std::size_t kChecksumOffset = kScratchOffset - sizeof(std::uint32_t);

}  // namespace

std::size_t encode(const ConnectRequest& message, std::span<std::byte> out) {
  wire::Writer writer(out);
  put_connect_prefix(writer, ConnectRequest::kKind, 0, message.send_comm);
  writer.put(message.secret);
  writer.put(message.listener);
  put_party(writer, message.party);
  return writer.ok() ? writer.used() : 0;
}

std::optional<Versioned<ConnectRequest>> decode_connect_request(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_connect_prefix(reader, ConnectRequest::kKind);
  if (!prefix) return std::nullopt;
  Versioned<ConnectRequest> result{
      .version = prefix->version, .message = {}, .send_comm = prefix->send_comm};
  result.secret = reader.get<std::uint64_t>();
  if (!reader.ok()) return std::nullopt;
  if (prefix->version != kProtocolVersion) return result;
  ConnectRequest message{.secret = result.secret, .send_comm = prefix->send_comm, .party = {}};
  message.listener = reader.get<std::uint32_t>();
  if (!get_party(reader, message.party) || !complete(reader)) return std::nullopt;
  result.message = std::move(message);
  return result;
}

std::size_t encode(const ConnectReply& message, std::span<std::byte> out) {
  wire::Writer writer(out);
  put_connect_prefix(writer, ConnectReply::kKind, static_cast<std::uint8_t>(message.verdict),
                     message.send_comm);
  writer.put(message.recv_comm);
  put_party(writer, message.party);
  return writer.ok() ? writer.used() : 0;
}

std::optional<Versioned<ConnectReply>> decode_connect_reply(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  const auto prefix = get_connect_prefix(reader, ConnectReply::kKind);
  if (!prefix) return std::nullopt;
  Versioned<ConnectReply> result{
      .version = prefix->version, .message = {}, .send_comm = prefix->send_comm};
  if (prefix->version != kProtocolVersion) return result;
  if (prefix->argument > static_cast<std::uint8_t>(Verdict::kRefused)) return std::nullopt;
  ConnectReply message{.verdict = static_cast<Verdict>(prefix->argument),
                       .send_comm = prefix->send_comm,
                       .party = {}};
  message.recv_comm = reader.get<CommName>();
  if (!get_party(reader, message.party) || !complete(reader)) return std::nullopt;
  result.message = std::move(message);
  return result;
}

void encode(const Handle& handle, std::span<std::byte, kHandleBytes> out) {
  std::memset(out.data(), 0, out.size());
  wire::Writer writer(out.first(kChecksumOffset));
  writer.put(kHandleMagic);
  writer.put(kProtocolVersion);
  writer.put(static_cast<std::uint8_t>(handle.address.size()));
  writer.put(handle.listener);
  writer.put(handle.secret);
  put_identity(writer, handle.identity);
  writer.put_bytes(handle.address);
  wire::Writer(out.subspan(kChecksumOffset)).put(checksum(out.first(kChecksumOffset)));
}

DecodedHandle decode_handle(std::span<const std::byte, kHandleBytes> bytes) {
  wire::Reader reader(bytes);
  DecodedHandle result;
  if (reader.get<std::uint64_t>() != kHandleMagic)
    return {.fault = HandleFault::kForeign, .handle = {}};
  result.version = reader.get<std::uint8_t>();
  if (result.version != kProtocolVersion) {
    return {.fault = HandleFault::kVersion, .version = result.version, .handle = {}};
  }
  const std::size_t address_bytes = reader.get<std::uint8_t>();
  result.handle.listener = reader.get<std::uint32_t>();
  result.handle.secret = reader.get<std::uint64_t>();
  result.handle.identity = get_identity(reader);
  const auto address = reader.take(std::min(address_bytes, kMaxAddressBytes));
  result.handle.address.assign(address.begin(), address.end());
  const auto sum = wire::Reader(bytes.subspan(kChecksumOffset)).get<std::uint32_t>();
  const bool intact = sum == checksum(bytes.first(kChecksumOffset));
  if (!intact || address_bytes == 0 || address_bytes > kMaxAddressBytes)
    result.fault = HandleFault::kDamaged;
  return result;
}

std::uint64_t handle_scratch(std::span<const std::byte, kHandleBytes> bytes) {
  return wire::Reader(bytes.subspan(kScratchOffset)).get<std::uint64_t>();
}

void set_handle_scratch(std::span<std::byte, kHandleBytes> bytes, std::uint64_t value) {
  wire::Writer(bytes.subspan(kScratchOffset)).put(value);
}

}  // namespace fabrail::transport
