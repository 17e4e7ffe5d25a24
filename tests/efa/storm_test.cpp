// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Everything at once that a network may do short of breaking: eight processes on the four NICs of a
// node, out of order, with receivers that are not ready, delays, doubled writes and short queues.
// Each message is compared. --long (FABRAIL_CONFORMANCE_LONG=1): a million of them.
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/stream.h"
#include "tests/efa/network.h"

namespace fabrail::efa {
namespace {

using namespace conformance;

constexpr size_t kProcesses = 8;
constexpr std::array<size_t, 2> kDistances{1, 3};  // each process sends to two others
constexpr size_t kStormRoom = 256 << 10;

uint64_t messages_of_a_stream() {
  constexpr uint64_t kStreams = kProcesses * kDistances.size();
  return sized<uint64_t>(51'200, 1'024'000) / kStreams;
}

Deadline patience() { return Deadline(sized(4 * kPatience, 80 * kPatience)); }

// From nothing to kStormRoom, as many small ones as large ones.
size_t storm_size(uint64_t number) {
  const uint64_t spread = number * 0x9E3779B97F4A7C15ull >> 32;
  return (spread >> 5) % (size_t{2} << spread % 17);
}

StreamPlan plan_of(size_t sender, size_t distance) {
  return {messages_of_a_stream(), kStormRoom, storm_size, (sender * kProcesses + distance) << 32};
}

struct Lane {
  Lane(const Net& net, Pair connected, size_t self, size_t distance)
      : pair(std::move(connected)),
        send(net, pair.send, plan_of(self, distance)),
        recv(net, pair.recv, plan_of((self + kProcesses - distance) % kProcesses, distance)) {}

  bool done() const { return send.done() && recv.done(); }
  void advance() {
    if (!send.done()) send.advance();
    if (!recv.done()) recv.advance();
  }

  Pair pair;
  SendStream send;
  RecvStream recv;
};

// Listens, tells where, hears where to connect to, and then sends and receives on all lanes at
// once.
void take_part(Net& net, Channel& channel) {
  const auto self = static_cast<size_t>(channel.hear());
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const size_t distance : kDistances) {
    Listener listener = open_listener(net);
    Handle next;
    ASSERT_TRUE(listener.comm && channel.send(listener.handle) && channel.receive(next));
    Pair pair = connect_to(net, listener.comm, next);
    ASSERT_TRUE(pair);
    lanes.push_back(std::make_unique<Lane>(net, std::move(pair), self, distance));
  }
  channel.tell(0);
  channel.hear();  // the storm has begun
  const bool arrived = poll_until(
      [&] {
        bool all = true;
        for (auto& lane : lanes) {
          lane->advance();
          all = all && lane->done();
        }
        return all || testing::Test::HasFatalFailure();
      },
      patience());
  int64_t compared = 0;
  for (const auto& lane : lanes) {
    EXPECT_TRUE(lane->recv.intact());
    compared += static_cast<int64_t>(lane->recv.completed());
  }
  EXPECT_TRUE(arrived) << "process " << self << " got no further than message " << compared;
  channel.tell(compared);
  channel.hear();  // the others may need us until they are done, too
}
const Role kTakePart("take_part", take_part);

using Peers = std::vector<std::unique_ptr<Peer>>;

// Everybody's handle goes to whoever sends to it.
void connect_all(Peers& peers) {
  for (const size_t distance : kDistances) {
    std::array<Handle, kProcesses> handles;
    for (size_t i = 0; i < kProcesses; ++i) ASSERT_TRUE(peers[i]->channel().receive(handles[i]));
    for (size_t i = 0; i < kProcesses; ++i)
      ASSERT_TRUE(peers[i]->channel().send(handles[(i + distance) % kProcesses]));
  }
  for (auto& peer : peers) ASSERT_EQ(peer->channel().hear(), 0);
}

// Waits for long, without a poll that takes the processor from those at work.
int64_t hear_at_last(Channel& channel) {
  const Deadline deadline = patience();
  while (!channel.pending() && !deadline.passed()) usleep(20'000);
  return channel.hear();
}

TEST(Storm, EveryMessageArrivesWhole) {
  sim("shape --shuffle 64 --latency 5us --jitter 20us");
  Peers peers;
  for (size_t i = 0; i < kProcesses; ++i) {
    peers.push_back(std::make_unique<Peer>(kTakePart, primary_abi()));
    peers.back()->channel().tell(static_cast<int64_t>(i));
  }
  connect_all(peers);
  if (HasFatalFailure()) return;
  sim("break not-ready --chance 10%");
  sim("break delay --delay 500us --chance 2%");
  sim("break duplicate --on write --chance 5%");
  for (auto& peer : peers) peer->channel().tell(0);
  int64_t compared = 0;
  for (auto& peer : peers) compared += hear_at_last(peer->channel());
  std::printf("%s  %lld messages compared\n", sim("list").c_str(),
              static_cast<long long>(compared));
  EXPECT_EQ(compared,
            static_cast<int64_t>(kProcesses * kDistances.size() * messages_of_a_stream()));
  sim("mend");
  for (auto& peer : peers) peer->channel().tell(0);
  for (auto& peer : peers) peer->expect_success();
}

}  // namespace
}  // namespace fabrail::efa
