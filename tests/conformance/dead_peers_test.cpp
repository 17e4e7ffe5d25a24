// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group G: what peers that have ended leave behind, and those that come after them.
#include <unistd.h>

#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

constexpr size_t kUnheardBytes = 1 << 20;
constexpr size_t kPairs = 6;  // to one process: no rail stays unused

std::vector<Pair> connect_pairs(const Net& net, Channel& channel, size_t count) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < count; ++i) {
    pairs.push_back(connect_to_peer(net, channel));
    EXPECT_TRUE(pairs.back());
  }
  return pairs;
}

// Connects as often as it is told, and ends without a word.
void vanish(Net& net, Channel& channel) {
  const auto pairs = connect_pairs(net, channel, static_cast<size_t>(channel.hear()));
  channel.tell(0);
  channel.hear();
  _exit(0);
}
const Role kVanish("vanish", vanish);

// Told to, sends one large message on each of its communicators.
void pour(Net& net, Channel& channel) {
  const auto pairs = connect_pairs(net, channel, kPairs);
  Buffer memory(kUnheardBytes);
  channel.hear();
  for (const Pair& pair : pairs) {
    ASSERT_TRUE(pair);
    Mr mr(net, pair.send.get(), memory.bytes());
    Pending send = post_send(net, pair.send, slice(memory.bytes(), mr));
    EXPECT_TRUE(finish(net, {&send}));
  }
  channel.hear();
}
const Role kPour("pour", pour);

// Connects to a process, which ends, and then closes what it has: farewells that never arrive.
void outlive_a_peer(const Net& net, size_t count) {
  Peer peer(kVanish, primary_abi());
  peer.channel().tell(static_cast<int64_t>(count));
  auto pairs = connect_pairs(net, peer.channel(), count);
  EXPECT_EQ(peer.channel().hear(), 0);
  peer.channel().tell(0);
  peer.expect_success();
  for (Pair& pair : pairs) {
    EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
    EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
  }
}

// Somebody who is not connected to us on every rail yet sends, once our receives are there.
void expect_messages(const Net& net) {
  Peer peer(kPour, primary_abi());
  const auto pairs = connect_pairs(net, peer.channel(), kPairs);
  Buffer memory(kPairs * kUnheardBytes);
  std::vector<Mr> mrs;
  std::vector<Pending> receives;
  for (size_t i = 0; i < kPairs; ++i) {
    ASSERT_TRUE(pairs[i]);
    const Bytes part = memory.part(i * kUnheardBytes, kUnheardBytes);
    mrs.emplace_back(net, pairs[i].recv.get(), part);
    receives.push_back(post_recv(net, pairs[i].recv, {slice(part, mrs[i])}));
    ASSERT_TRUE(receives[i].posted());
    step(net, receives[i]);
  }
  peer.channel().tell(0);
  EXPECT_TRUE(finish(net, receives));
  peer.channel().tell(0);
  peer.expect_success();
}

// What was to go to the dead never leaves. Here those are more than a rail looks at in one go, and
// they come before the first messages to the living.
TEST(DeadPeers, DoNotHoldUpTheLiving) {
  RUN_IN_OWN_PROCESS();
  OpenNet open(primary_abi());
  for (int i = 0; i < 12; ++i) outlive_a_peer(open.net(), kPairs);
  expect_messages(open.net());
}

// More farewells than messages to one peer may wait: but that is that peer's affair.
TEST(DeadPeers, LeaveRoomForTheLiving) {
  RUN_IN_OWN_PROCESS();
  OpenNet open(primary_abi());
  outlive_a_peer(open.net(), 640);
  expect_messages(open.net());
}

}  // namespace
}  // namespace fabrail::conformance
