// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Wire formats: what is encoded decodes to the same, and nothing else decodes.
#include "src/transport/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "src/transport/agreement.h"

namespace fabrail::transport {
namespace {

std::span<const std::byte> bytes_of(const ShortMessage& message) {
  return std::span(message.data).first(message.bytes);
}

Party make_party(std::size_t rails) {
  Party party{.identity = {.host = 11, .pid = 22, .start = 33},
              .host = "node-1",
              .provider = "tcp",
              .writes = false,
              .reads = true,
              .addresses = {}};
  for (std::size_t i = 0; i < rails; ++i) party.addresses.emplace_back(16, std::byte(i));
  return party;
}

TEST(Immediate, KeepsEveryFieldInThirtyOneBits) {
  const Immediate all{.comm = 0x1ffff, .slot = 255, .stripe = 31, .last = true};
  EXPECT_LT(encode(all), 1u << 31);
  const Immediate back = decode_immediate(encode(all));
  EXPECT_EQ(back.comm, all.comm);
  EXPECT_EQ(back.slot, all.slot);
  EXPECT_EQ(back.stripe, all.stripe);
  EXPECT_TRUE(back.last);
}

ClearToSend some_cts() {
  return {.group_size = 8,
          .group_index = 3,
          .comm = 0xabcdef01,
          .sequence = 0xfffffff0,
          .tag = -5,
          .region = 0x00020001,
          .length = 1 << 30,
          .offset = 0x123456789abcull};
}

TEST(ClearToSend, FitsEfasInlineLimitAndComesBack) {
  const ShortMessage encoded = encode(some_cts());
  EXPECT_LE(encoded.bytes, 32);
  const auto back = decode_clear_to_send(bytes_of(encoded));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->group_index, 3);
  EXPECT_EQ(back->comm, 0xabcdef01u);
  EXPECT_EQ(back->sequence, 0xfffffff0u);
  EXPECT_EQ(back->tag, -5);
  EXPECT_EQ(back->length, 1u << 30);
  EXPECT_EQ(back->offset, 0x123456789abcull);
}

TEST(ClearToSend, IsRefusedWhenItsGroupCannotBe) {
  for (const auto& [size, index] : {std::pair<int, int>{0, 0}, {9, 0}, {8, 8}, {1, 1}, {255, 3}}) {
    ClearToSend message = some_cts();
    message.group_size = static_cast<std::uint8_t>(size);
    message.group_index = static_cast<std::uint8_t>(index);
    EXPECT_FALSE(decode_clear_to_send(bytes_of(encode(message)))) << size << " " << index;
  }
}

TEST(ClearToSend, IsRefusedAtEveryOtherLength) {
  const ShortMessage encoded = encode(some_cts());
  std::vector<std::byte> longer(encoded.data.begin(), encoded.data.end());
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_clear_to_send(longer));
  for (std::size_t bytes = 0; bytes < encoded.bytes; ++bytes) {
    EXPECT_FALSE(decode_clear_to_send(std::span(encoded.data).first(bytes))) << bytes;
  }
}

TEST(Region, CarriesOneKeyForEachRail) {
  Region region{.comm = 7, .region = 9, .base = 0x1000, .length = 4096, .rails = 32};
  for (std::size_t i = 0; i < 32; ++i) region.keys[i] = i * 3;
  std::array<std::byte, 512> buffer{};
  const std::size_t used = encode(region, buffer);
  ASSERT_GT(used, 0u);
  const auto back = decode_region(std::span(buffer).first(used));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->keys, region.keys);
  EXPECT_FALSE(decode_region(std::span(buffer).first(used - 1)));
  EXPECT_EQ(encode(region, std::span(buffer).first(100)), 0u)
      << "too small a buffer is not overrun";
}

TEST(Offer, FitsEfasInlineLimitAndComesBack) {
  const Offer offer{.comm = 0xabcdef01,
                    .slot = 255,
                    .request = 254,
                    .bytes = 1 << 30,
                    .region = 0x00020001,
                    .offset = 0x123456789abcull};
  const ShortMessage encoded = encode(offer);
  EXPECT_LE(encoded.bytes, 32);
  const auto back = decode_offer(bytes_of(encoded));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->comm, offer.comm);
  EXPECT_EQ(back->slot, offer.slot);
  EXPECT_EQ(back->request, offer.request);
  EXPECT_EQ(back->bytes, offer.bytes);
  EXPECT_EQ(back->region, offer.region);
  EXPECT_EQ(back->offset, offer.offset);
  EXPECT_FALSE(decode_offer(bytes_of(encoded).first(encoded.bytes - 1u)));
}

TEST(Offer, IsRefusedWhenItCannotBe) {
  const Offer good{.comm = 1, .slot = 3, .bytes = 5};
  ASSERT_TRUE(decode_offer(bytes_of(encode(good))));
  Offer bad = good;
  bad.slot = kWindow;
  EXPECT_FALSE(decode_offer(bytes_of(encode(bad))));
  bad = good;
  bad.bytes = 0;
  EXPECT_FALSE(decode_offer(bytes_of(encode(bad)))) << "nothing is never offered";
  bad.bytes = kMaxMessageBytes + 1;
  EXPECT_FALSE(decode_offer(bytes_of(encode(bad))));
}

TEST(Pull, IsWhatBothSidesMakeOfTheirAbilities) {
  const auto party = [](bool writes, bool reads) {
    Party one;
    one.writes = writes;
    one.reads = reads;
    return one;
  };
  EXPECT_FALSE(is_pulled(party(true, true), party(true, true)));
  EXPECT_TRUE(is_pulled(party(false, true), party(true, true)));
  EXPECT_TRUE(is_pulled(party(false, false), party(false, true))) << "the sender need not read";
  EXPECT_FALSE(is_pulled(party(false, true), party(true, false))) << "nobody could";
}

TEST(ConnectRequest, ComesBackWithAllRails) {
  const ConnectRequest request{
      .secret = 42, .listener = 3, .send_comm = 99, .party = make_party(32)};
  std::array<std::byte, 4096> buffer{};
  const std::size_t used = encode(request, buffer);
  ASSERT_GT(used, 0u);
  const auto back = decode_connect_request(std::span(buffer).first(used));
  ASSERT_TRUE(back && back->message);
  EXPECT_EQ(back->message->secret, 42u);
  EXPECT_EQ(back->message->party.addresses, request.party.addresses);
  EXPECT_EQ(back->message->party.host, "node-1");
  EXPECT_FALSE(back->message->party.writes);
  EXPECT_TRUE(back->message->party.reads);
  for (std::size_t bytes = 0; bytes < used; ++bytes) {
    EXPECT_FALSE(decode_connect_request(std::span(buffer).first(bytes))) << bytes;
  }
}

ConnectReply reply_with(const Terms& terms) {
  ConnectReply reply{.verdict = Verdict::kAccepted, .send_comm = 1, .party = make_party(1)};
  reply.party.terms = terms;
  return reply;
}

TEST(Terms, ComeBack) {
  const ConnectReply reply = reply_with(
      {.version = "1.2.3", .gpudirect = Terms::GpuDirect::kYes, .protocols = Terms::kSimple});
  std::array<std::byte, 512> buffer{};
  const std::size_t used = encode(reply, buffer);
  const auto back = decode_connect_reply(std::span(buffer).first(used));
  ASSERT_TRUE(back && back->message);
  EXPECT_EQ(back->message->party.terms.version, "1.2.3");
  EXPECT_EQ(back->message->party.terms.gpudirect, Terms::GpuDirect::kYes);
  EXPECT_EQ(back->message->party.terms.protocols, Terms::kSimple);
}

TEST(Terms, OfANewerVersionAreSkipped) {
  std::array<std::byte, 512> buffer{};
  std::size_t used = encode(reply_with({.version = "9"}), buffer);
  const auto plain = used;
  for (const int byte : {200, 3, 1, 2, 3, 201, 0, 2, 1, 77}) buffer[used++] = std::byte(byte);
  const auto back = decode_connect_reply(std::span(buffer).first(used));
  ASSERT_TRUE(back && back->message);
  EXPECT_EQ(back->message->party.terms.version, "9");
  EXPECT_EQ(back->message->party.terms.gpudirect, Terms::GpuDirect::kUntold)
      << "a value that is not known says nothing";
  EXPECT_FALSE(decode_connect_reply(std::span(buffer).first(plain + 4))) << "cut within a field";
  EXPECT_FALSE(decode_connect_reply(std::span(buffer).first(plain + 1))) << "cut within a field";
}

TEST(Terms, OfThePeerAreHarmlessText) {
  std::array<std::byte, 512> buffer{};
  const std::size_t used = encode(reply_with({.version = "1\n2\x1b"}), buffer);
  const auto back = decode_connect_reply(std::span(buffer).first(used));
  ASSERT_TRUE(back && back->message);
  EXPECT_EQ(back->message->party.terms.version, "1?2?");
}

TEST(Disagreement, NamesBothSidesOfWhatDiffers) {
  Party own = make_party(4);
  Party peer = make_party(4);
  EXPECT_EQ(disagreement(own, peer), "");
  own.terms = {.version = "1", .gpudirect = Terms::GpuDirect::kYes, .protocols = Terms::kSimple};
  EXPECT_EQ(disagreement(own, peer), "") << "what a side does not tell is no difference";
  peer = make_party(3);
  peer.provider = "efa";
  peer.terms = {.version = "2",
                .gpudirect = Terms::GpuDirect::kNo,
                .protocols = Terms::kSimple | Terms::kLl | Terms::kLl128};
  EXPECT_EQ(disagreement(own, peer),
            "version 1 here, 2 there; provider tcp here, efa there; rails 4 here, 3 there; "
            "GPUDirect yes here, no there; protocols Simple here, LL,LL128,Simple there");
}

TEST(ConnectRequest, OfAnotherVersionSaysOnlyWhichOne) {
  const ConnectRequest request{
      .secret = 42, .listener = 3, .send_comm = 99, .party = make_party(1)};
  std::array<std::byte, 512> buffer{};
  const std::size_t used = encode(request, buffer);
  buffer[1] = std::byte{kProtocolVersion + 1};
  const auto back = decode_connect_request(std::span(buffer).first(used));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->version, kProtocolVersion + 1);
  EXPECT_FALSE(back->message);
}

TEST(ConnectReply, MakesThePeersTextHarmless) {
  ConnectReply reply{
      .verdict = Verdict::kAccepted, .send_comm = 1, .recv_comm = 2, .party = make_party(1)};
  reply.party.host = "evil\n\x1b[2J";
  std::array<std::byte, 512> buffer{};
  const std::size_t used = encode(reply, buffer);
  const auto back = decode_connect_reply(std::span(buffer).first(used));
  ASSERT_TRUE(back && back->message);
  EXPECT_EQ(back->message->party.host, "evil??[2J");
}

std::array<std::byte, kHandleBytes> some_handle() {
  std::array<std::byte, kHandleBytes> bytes{};
  encode(Handle{.secret = 5,
                .listener = 6,
                .identity = {.host = 1, .pid = 2, .start = 3},
                .address = std::vector<std::byte>(kMaxAddressBytes, std::byte{7})},
         bytes);
  return bytes;
}

TEST(Handle, ComesBackAndLeavesTheScratchWordToTheConnector) {
  auto bytes = some_handle();
  EXPECT_EQ(handle_scratch(bytes), 0u);
  set_handle_scratch(bytes, ~0ull);
  EXPECT_EQ(handle_scratch(bytes), ~0ull);
  const DecodedHandle decoded = decode_handle(bytes);
  EXPECT_EQ(decoded.fault, HandleFault::kNone) << "the scratch word is not part of what is checked";
  EXPECT_EQ(decoded.handle.secret, 5u);
  EXPECT_EQ(decoded.handle.address.size(), kMaxAddressBytes);
}

TEST(Handle, ShowsDamageInEveryByte) {
  for (std::size_t i = 0; i < kHandleBytes - sizeof(std::uint64_t); ++i) {
    auto bytes = some_handle();
    bytes[i] ^= std::byte{0x40};
    EXPECT_NE(decode_handle(bytes).fault, HandleFault::kNone) << "byte " << i;
  }
}

TEST(Handle, OfAnotherVersionIsNotTakenForDamage) {
  auto bytes = some_handle();
  bytes[8] = std::byte{kProtocolVersion + 1};
  EXPECT_EQ(decode_handle(bytes).fault, HandleFault::kVersion);
  EXPECT_EQ(decode_handle(std::array<std::byte, kHandleBytes>{}).fault, HandleFault::kForeign);
}

}  // namespace
}  // namespace fabrail::transport
