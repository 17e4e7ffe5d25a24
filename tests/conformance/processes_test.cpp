// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group E across two processes, for every ABI version.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/stream.h"

namespace fabrail::conformance {
namespace {

using std::chrono::milliseconds;

constexpr size_t kLargestBytes = 1 << 20;
constexpr std::array<size_t, 12> kSizesBetween = {0,    1,    8,     63,    128,    4095,
                                                  4096, 8193, 65536, 65537, 614400, kLargestBytes};

class ProcessesEveryAbi : public EveryAbiTest {};

// Sends back what it gets, with the same number of bytes, until the channel says stop.
void echo(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  Buffer memory(kLargestBytes);
  Mr send_mr(net, pair.send.get(), memory.bytes());
  Mr recv_mr(net, pair.recv.get(), memory.bytes());
  for (int64_t left = channel.hear(); left > 0; --left) {
    const int size = receive_one(net, pair.recv, slice(memory.bytes(), recv_mr));
    ASSERT_GE(size, 0);
    const Bytes part = memory.part(0, static_cast<size_t>(size));
    ASSERT_TRUE(send_one(net, pair.send, slice(part, send_mr)));
  }
  channel.tell(0);
  channel.hear();
}
const Role kEcho("echo", echo);

// Case 61, pingpong_sizes, between processes.
TEST_P(ProcessesEveryAbi, EchoEverySize) {
  Peer peer(kEcho, GetParam());
  Pair pair = connect_to_peer(net(), peer.channel());
  ASSERT_TRUE(pair);
  Buffer out(kLargestBytes);
  Buffer in(kLargestBytes);
  Mr out_mr(net(), pair.send.get(), out.bytes());
  Mr in_mr(net(), pair.recv.get(), in.bytes());
  peer.channel().tell(std::ssize(kSizesBetween));
  for (const size_t size : kSizesBetween) {
    fill_pattern(out.part(0, size), size);
    in.clear();
    ASSERT_TRUE(send_one(net(), pair.send, slice(out.part(0, size), out_mr)));
    ASSERT_EQ(receive_one(net(), pair.recv, slice(in.bytes(), in_mr)), static_cast<int>(size));
    ASSERT_TRUE(has_pattern(in.part(0, size), size));
    ASSERT_TRUE(holds_only(in.part(size, kLargestBytes - size), kUntouched)) << size;
  }
  EXPECT_TRUE(in.intact());
  EXPECT_EQ(peer.channel().hear(), 0);
  peer.channel().tell(0);
  peer.expect_success();
}

// From nothing to a megabyte, as many small ones as large ones.
size_t soak_size(uint64_t number) {
  const uint64_t spread = number * 0x9E3779B97F4A7C15ull >> 32;
  return (spread >> 5) % (size_t{2} << spread % 20);
}

// Depth 8 each way at the same time; every message is compared.
void soak(Net& net, const Pair& pair, uint64_t count) {
  const StreamPlan plan{count, kLargestBytes, soak_size};
  SendStream send(net, pair.send, plan);
  RecvStream recv(net, pair.recv, plan);
  run_streams(send, recv, Deadline(sized(3 * kPatience, 30 * kPatience)));
  EXPECT_TRUE(recv.intact());
}

void soak_peer(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  soak(net, pair, static_cast<uint64_t>(channel.hear()));
  channel.tell(0);
  channel.hear();
}
const Role kSoakPeer("soak_peer", soak_peer);

// Case 86, bidir_depth8_soak.
TEST_P(ProcessesEveryAbi, SoakBothWaysAtDepthEight) {
  const int64_t count = sized<int64_t>(400, 200'000);
  Peer peer(kSoakPeer, GetParam());
  Pair pair = connect_to_peer(net(), peer.channel());
  ASSERT_TRUE(pair);
  peer.channel().tell(count);
  soak(net(), pair, static_cast<uint64_t>(count));
  EXPECT_EQ(peer.channel().hear(), 0);
  peer.channel().tell(0);
  peer.expect_success();
}

INSTANTIATE_FOR_EVERY_ABI(ProcessesEveryAbi);

enum class Departure { kClose, kExit, kQuickExit };

struct DepartureCase {
  Departure how;
  size_t size;
  int count;
  bool posted_first;  ///< receives are there before the sends
};

std::string departure_name(const testing::TestParamInfo<DepartureCase>& row) {
  const std::array<const char*, 3> how = {"Close", "Exit", "UnderscoreExit"};
  return std::string(how[static_cast<size_t>(row.param.how)]) + std::to_string(row.param.count) +
         "x" + std::to_string(row.param.size) + (row.param.posted_first ? "Posted" : "Unexpected");
}

std::vector<DepartureCase> departures() {
  std::vector<DepartureCase> all;
  for (const Departure how : {Departure::kClose, Departure::kExit, Departure::kQuickExit}) {
    all.push_back({how, 8, 1, true});
    all.push_back({how, 8, 1, false});
    all.push_back({how, 2048, 6, false});
    all.push_back({how, kLargestBytes, 4, true});
    all.push_back({how, 100'000, 4, true});
  }
  return all;
}

// Sends `count` messages, waits until test says done for each, and leaves in the way it was told.
void send_and_leave(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  DepartureCase row{};
  ASSERT_TRUE(channel.receive(row));
  const auto count = static_cast<size_t>(row.count);
  Pages memory(count * row.size);
  Mr mr(net, pair.send.get(), memory.bytes());
  std::vector<Pending> sends;
  for (size_t i = 0; i < count; ++i) {
    const Bytes part = memory.bytes().subspan(i * row.size, row.size);
    fill_pattern(part, i);
    sends.push_back(post_send(net, pair.send, slice(part, mr)));
    if (!sends.back().posted()) _exit(3);
  }
  if (!finish(net, sends)) _exit(4);
  if (row.how == Departure::kQuickExit) _exit(0);
  if (row.how == Departure::kExit) std::exit(0);
  EXPECT_EQ(mr.deregister(), NCCL_NET_SUCCESS);
  memory.replace();
  EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
  EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
}
const Role kSendAndLeave("send_and_leave", send_and_leave);

class Departing : public testing::TestWithParam<DepartureCase> {};

// 3.4: once test says done for a send, the data arrives, even if the sender closes or exits at
// once.
TEST_P(Departing, DeliversWhatWasDone) {
  OpenNet open(primary_abi());
  Net& net = open.net();
  const DepartureCase row = GetParam();
  const auto count = static_cast<size_t>(row.count);
  Peer peer(kSendAndLeave, primary_abi());
  Pair pair = connect_to_peer(net, peer.channel());
  ASSERT_TRUE(pair);
  Buffer memory(count * row.size);
  Mr mr(net, pair.recv.get(), memory.bytes());
  std::vector<Pending> receives;
  const auto post_one = [&](size_t i) {
    receives.push_back(post_recv(net, pair.recv, {slice(memory.part(i * row.size, row.size), mr)}));
    ASSERT_TRUE(receives.back().posted()) << i;
  };
  for (size_t i = 0; row.posted_first && i < count; ++i) post_one(i);
  ASSERT_TRUE(peer.channel().send(row));
  if (!row.posted_first) {
    // The sender must not need the receive: give it time to finish alone, then help it along.
    poll_for(milliseconds(150), [] {});
    for (size_t i = 0; i < count; ++i) post_one(i);
  }
  ASSERT_TRUE(finish(net, receives));
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(receives[i].sizes[0], static_cast<int>(row.size));
    EXPECT_TRUE(has_pattern(memory.part(i * row.size, row.size), i)) << i;
  }
  EXPECT_TRUE(memory.intact());
  EXPECT_EQ(mr.deregister(), NCCL_NET_SUCCESS);
  peer.expect_success();
  EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
  EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Sender, Departing, testing::ValuesIn(departures()), departure_name);

// The same in one process: the sender's comm is closed while the receiver has not looked yet.
TEST(Processes, DeliverWhatWasDoneAfterClose) {
  OpenNet open(primary_abi());
  Net& net = open.net();
  for (const size_t size : {size_t{1}, size_t{64}, size_t{4096}, size_t{65536}, kLargestBytes}) {
    Pair pair = connect_loopback(net);
    ASSERT_TRUE(pair);
    Pages from(size);
    Buffer to(size);
    fill_pattern(from.bytes().first(size), size);
    Mr from_mr(net, pair.send.get(), from.bytes());
    Mr to_mr(net, pair.recv.get(), to.bytes());
    Pending recv = post_recv(net, pair.recv, {slice(to.bytes(), to_mr)});
    Pending send = post_send(net, pair.send, slice(from.bytes().first(size), from_mr), {&recv});
    ASSERT_TRUE(poll_until([&] {  // the receiver helps only if the sender needs it
      step(net, send);
      if (!send.done) step(net, recv);
      return send.ended();
    }));
    ASSERT_TRUE(send.done);
    EXPECT_EQ(from_mr.deregister(), NCCL_NET_SUCCESS);
    from.replace();
    EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
    ASSERT_TRUE(recv.done || finish(net, {&recv})) << size;
    EXPECT_TRUE(has_pattern(to.bytes(), size));
    EXPECT_TRUE(to.intact());
  }
}

// Posts a receive, and looks after it rarely.
void receive_lazily(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  Buffer memory(kLargestBytes);
  Mr mr(net, pair.recv.get(), memory.bytes());
  for (uint64_t i = 0; i < 8; ++i) {
    Pending recv = post_recv(net, pair.recv, {slice(memory.bytes(), mr)});
    ASSERT_TRUE(recv.posted());
    while (!recv.done) {
      usleep(sized(20'000u, 1'000'000u));
      step(net, recv);
      ASSERT_FALSE(recv.failed());
    }
    EXPECT_TRUE(has_pattern(memory.bytes(), i));
  }
  channel.tell(0);
  channel.hear();
}
const Role kReceiveLazily("receive_lazily", receive_lazily);

// Case 87, progress_without_peer_test.
TEST(Processes, ProgressWhenThePeerRarelyTests) {
  OpenNet open(primary_abi());
  Net& net = open.net();
  Peer peer(kReceiveLazily, primary_abi());
  Pair pair = connect_to_peer(net, peer.channel());
  ASSERT_TRUE(pair);
  Buffer memory(kLargestBytes);
  Mr mr(net, pair.send.get(), memory.bytes());
  for (uint64_t i = 0; i < 8; ++i) {
    fill_pattern(memory.bytes(), i);
    Pending send;
    ASSERT_TRUE(poll_until(
        [&] {
          send = try_isend(net, pair.send, slice(memory.bytes(), mr));
          return send.posted() || send.failed();
        },
        Deadline(3 * kPatience)));
    ASSERT_TRUE(poll_until(
        [&] {
          step(net, send);
          return send.ended();
        },
        Deadline(3 * kPatience)));
    ASSERT_TRUE(send.done);
  }
  EXPECT_EQ(peer.channel().hear(), 0);
  peer.channel().tell(0);
  peer.expect_success();
}

}  // namespace
}  // namespace fabrail::conformance
