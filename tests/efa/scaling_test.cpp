// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One communicator over NICs with a cap: every rail is kept busy, and all carry the same.
//
// All caps together are far below what this machine's processors can copy, and time is that of the
// NICs' own schedule: what was posted in time counts as sent in time, however busy the machine is.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/stream.h"
#include "tests/efa/network.h"

namespace fabrail::efa {
namespace {

using namespace conformance;

constexpr size_t kMessage = 8 << 20;
constexpr size_t kTotalRate = 20'000'000;  // bytes per second of all rails together
constexpr uint64_t kBeforeCapping = 4;     // messages until everything is in its stride
constexpr uint64_t kMeasured = 8;
constexpr uint64_t kAfter = kStreamDepth + 2;  // the rails stay busy until after the last look

size_t whole(uint64_t) { return kMessage; }
const StreamPlan kPlan{kBeforeCapping + kMeasured + kAfter, kMessage, whole};

void drain(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  RecvStream stream(net, pair.recv, kPlan);
  uint64_t told = 0;
  ASSERT_TRUE(poll_until(
      [&] {
        stream.advance();
        for (; told < stream.completed(); ++told) channel.tell(static_cast<int64_t>(told));
        return stream.done() || testing::Test::HasFatalFailure();
      },
      Deadline(4 * kPatience)));
  channel.hear();
}
const Role kDrain("drain", drain);

// Sends until the peer has received `count` messages in all.
void send_until(SendStream& stream, Channel& channel, uint64_t& received, uint64_t count) {
  ASSERT_TRUE(poll_until(
      [&] {
        if (!stream.done()) stream.advance();
        while (channel.pending()) received = static_cast<uint64_t>(channel.hear()) + 1;
        return received >= count || testing::Test::HasFatalFailure();
      },
      Deadline(4 * kPatience)));
}

// The first NICs are the ones that are used.
std::vector<Sent> sent_on(size_t rails) {
  std::vector<Sent> sent = sent_by(0);
  EXPECT_GE(sent.size(), rails);
  sent.resize(rails);
  return sent;
}

std::vector<Sent> difference(const std::vector<Sent>& after, const std::vector<Sent>& before) {
  std::vector<Sent> all;
  for (size_t i = 0; i < after.size(); ++i) {
    all.push_back({after[i].payload_bytes - before[i].payload_bytes,
                   after[i].busy_us - before[i].busy_us, after[i].idle_us - before[i].idle_us});
  }
  return all;
}

// Bytes per second of the schedule's time.
double rate_of(const Sent& sent) {
  return static_cast<double>(sent.payload_bytes) * 1e6 /
         static_cast<double>(sent.busy_us + sent.idle_us);
}

testing::AssertionResult fills_every_rail(const std::vector<Sent>& steady) {
  const auto cap = static_cast<double>(kTotalRate / steady.size());
  testing::AssertionResult failure = testing::AssertionFailure();
  bool all = true;
  double sum = 0;
  for (size_t rail = 0; rail < steady.size(); ++rail) {
    const Sent& sent = steady[rail];
    const double rate = rate_of(sent);
    all = all && rate >= 0.95 * cap;
    failure << "rail " << rail << ": " << rate / cap << " of its cap, idle " << sent.idle_us
            << " us of " << sent.idle_us + sent.busy_us << "\n";
    sum += rate;
  }
  all = all && sum >= 0.95 * static_cast<double>(kTotalRate);
  return all ? testing::AssertionSuccess() : failure;
}

void check_shares(const std::vector<Sent>& whole) {
  const auto [least, most] = std::minmax_element(
      whole.begin(), whole.end(),
      [](const Sent& a, const Sent& b) { return a.payload_bytes < b.payload_bytes; });
  EXPECT_GE(least->payload_bytes * whole.size(), kPlan.count * kMessage * 99 / 100);
  EXPECT_LE(most->payload_bytes * 100, least->payload_bytes * 102);
}

class Scaling : public testing::TestWithParam<size_t> {};

// One stream to a new peer: whether it kept all rails busy while it was in full swing.
testing::AssertionResult stream_fills(Net& net, size_t rails, const Environment& there) {
  Peer peer(kDrain, primary_abi(), there);
  Pair pair = connect_to_peer(net, peer.channel());
  if (!pair) return testing::AssertionFailure() << "no connection";
  SendStream stream(net, pair.send, kPlan);
  uint64_t received = 0;
  const std::vector<Sent> idle = sent_on(rails);
  send_until(stream, peer.channel(), received, kBeforeCapping);
  const std::vector<Sent> first = sent_on(rails);
  send_until(stream, peer.channel(), received, kBeforeCapping + kMeasured);
  const auto filled = fills_every_rail(difference(sent_on(rails), first));
  send_until(stream, peer.channel(), received, kPlan.count);
  check_shares(difference(sent_on(rails), idle));
  peer.channel().tell(0);
  peer.expect_success();
  return filled;
}

// A machine that is busy with other things may keep us from posting in time, but not always: what
// the plugin can do shows in the best of some tries.
TEST_P(Scaling, FillsEveryRailEvenly) {
  constexpr int kTries = 6;
  const size_t rails = GetParam();
  const std::string setting = "FABRAIL_RAILS=" + std::to_string(rails);
  RUN_IN_OWN_PROCESS({setting});
  sim("shape --rate " + std::to_string(kTotalRate / rails));
  OpenNet open(primary_abi());
  Environment there = on_node(1);
  there.push_back(setting);
  testing::AssertionResult filled = testing::AssertionFailure();
  for (int i = 0; i < kTries && !filled && !HasFailure(); ++i) {
    filled = stream_fills(open.net(), rails, there);
    std::printf("%s", filled.message());
  }
  EXPECT_TRUE(filled);
  sim("shape --rate 0");
}

INSTANTIATE_TEST_SUITE_P(Rails, Scaling, testing::Values(1, 2, 4, 8),
                         [](const auto& row) { return std::to_string(row.param); });

}  // namespace
}  // namespace fabrail::efa
