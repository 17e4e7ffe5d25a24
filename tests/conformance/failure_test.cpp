// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group G: peers that die, stop, or close, and what the survivor is told.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

using std::chrono::milliseconds;

constexpr size_t kFailingBytes = 1 << 20;

// What a chattering peer may be told; anything else ends it.
constexpr int64_t kDie = SIGKILL;
constexpr int64_t kPause = SIGSTOP;

// Sends and receives for ever, so that its end finds it in the middle of something: yet never in a
// call, as shm of libfabric 1.17 holds a spin lock there that is in everybody's memory.
void chatter(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  Buffer memory(2 * kFailingBytes);
  Mr send_mr(net, pair.send.get(), memory.bytes());
  Mr recv_mr(net, pair.recv.get(), memory.bytes());
  Pending send;
  Pending recv;
  channel.tell(0);
  while (!send.failed() && !recv.failed()) {
    if (channel.pending()) {
      const int64_t told = channel.hear();
      if (told != kDie && told != kPause) return;
      raise(static_cast<int>(told));
    }
    if (!send.in_flight())
      send = try_isend(net, pair.send, slice(memory.part(0, kFailingBytes), send_mr));
    if (!recv.in_flight()) {
      recv = try_irecv(net, pair.recv, {slice(memory.part(kFailingBytes, kFailingBytes), recv_mr)});
    }
    step(net, send);
    step(net, recv);
  }
}
const Role kChatter("chatter", chatter);

// Connects and then does nothing at all until it is told to end.
void keep_quiet(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  EXPECT_TRUE(pair);
  channel.tell(0);
  channel.hear();
}
const Role kKeepQuiet("keep_quiet", keep_quiet);

/// A comm to a peer process and one message each way: what a survivor has in its hands.
struct Survivor {
  Survivor(const Net& the_net, Peer& peer)
      : net(the_net),
        pair(connect_to_peer(the_net, peer.channel())),
        out(kFailingBytes),
        in(kFailingBytes) {
    EXPECT_TRUE(pair);
    EXPECT_EQ(peer.channel().hear(), 0);
    out_mr.emplace(net, pair.send.get(), out.bytes());
    in_mr.emplace(net, pair.recv.get(), in.bytes());
  }

  void advance_send() {
    if (send.failed()) return;
    if (!send.in_flight()) send = try_isend(net, pair.send, slice(out.bytes(), *out_mr));
    step(net, send);
  }
  void advance_recv() {
    if (recv.failed()) return;
    if (!recv.in_flight()) recv = try_irecv(net, pair.recv, {slice(in.bytes(), *in_mr)});
    step(net, recv);
  }
  // One message more each way; false when that does not happen in time.
  testing::AssertionResult exchanges() {
    bool sent = false;
    bool received = false;
    poll_until([&] {
      advance_send();
      advance_recv();
      sent = sent || send.done;
      received = received || recv.done;
      return (sent && received) || send.failed() || recv.failed();
    });
    if (sent && received) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "send " << send.result << ", receive " << recv.result;
  }
  void expect_clean_end() {
    EXPECT_EQ(out_mr->deregister(), NCCL_NET_SUCCESS);
    EXPECT_EQ(in_mr->deregister(), NCCL_NET_SUCCESS);
    EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
    EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
  }
  ~Survivor() {  // registrations go before their comms
    out_mr.reset();
    in_mr.reset();
  }

  const Net& net;
  Pair pair;
  Buffer out;
  Buffer in;
  std::optional<Mr> out_mr;
  std::optional<Mr> in_mr;
  Pending send;
  Pending recv;
};

/// kRefused: every isend so far was answered with NULL, as no receive was ever posted.
enum class Side { kSending, kRefused, kWaiting, kBoth };

class PeerKilled : public testing::TestWithParam<Side> {};

// Case 100, peer_sigkill_during_transfer: the sending side, the side that merely waits, or both.
TEST_P(PeerKilled, IsARemoteErrorAndTheRestIsClean) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  const bool sends = GetParam() != Side::kWaiting;
  const bool receives = GetParam() == Side::kWaiting || GetParam() == Side::kBoth;
  const bool talked = GetParam() == Side::kSending || GetParam() == Side::kBoth;
  Peer peer(talked ? kChatter : kKeepQuiet, primary_abi(), kFastProbe);
  Survivor survivor(open.net(), peer);
  if (talked) {
    ASSERT_TRUE(survivor.exchanges());
  }
  if (!sends) survivor.advance_recv();
  if (!receives) survivor.advance_send();
  if (talked) {
    peer.channel().tell(kDie);
  } else {
    peer.signal(SIGKILL);
  }
  peer.wait();
  const bool told = poll_until([&] {
    if (sends) survivor.advance_send();
    if (receives) survivor.advance_recv();
    return (!sends || survivor.send.failed()) && (!receives || survivor.recv.failed());
  });
  EXPECT_TRUE(told) << "the survivor never heard of the peer's death";
  if (survivor.send.failed()) {
    EXPECT_EQ(survivor.send.result, NCCL_NET_REMOTE_ERROR);
  }
  if (survivor.recv.failed()) {
    EXPECT_EQ(survivor.recv.result, NCCL_NET_REMOTE_ERROR);
  }
  survivor.expect_clean_end();
  Pair next = connect_loopback(open.net());
  ASSERT_TRUE(next);
  EXPECT_TRUE(works(open.net(), next));
}

std::string side_name(const testing::TestParamInfo<Side>& row) {
  constexpr std::array kNames = {"Sending", "Refused", "Waiting", "Both"};
  return kNames[static_cast<size_t>(row.param)];
}

INSTANTIATE_TEST_SUITE_P(Side, PeerKilled,
                         testing::Values(Side::kSending, Side::kRefused, Side::kWaiting,
                                         Side::kBoth),
                         side_name);

// Case 103, error_sticky.
TEST(PeerDeath, StaysAnErrorOnThatComm) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Peer peer(kChatter, primary_abi(), kFastProbe);
  Survivor survivor(open.net(), peer);
  ASSERT_TRUE(survivor.exchanges());
  peer.channel().tell(kDie);
  peer.wait();
  ASSERT_TRUE(poll_until([&] {
    survivor.advance_send();
    survivor.advance_recv();
    return survivor.send.failed() && survivor.recv.failed();
  }));
  for (int call = 0; call < 50; ++call) {
    const Pending send =
        try_isend(open.net(), survivor.pair.send, slice(survivor.out.bytes(), *survivor.out_mr));
    const Pending recv =
        try_irecv(open.net(), survivor.pair.recv, {slice(survivor.in.bytes(), *survivor.in_mr)});
    ASSERT_TRUE(send.failed()) << "call " << call;
    ASSERT_TRUE(recv.failed()) << "call " << call;
  }
  survivor.expect_clean_end();
}

// Case 104, one_comm_error_isolated: other comms, to another peer and in this process, go on.
TEST(PeerDeath, LeavesOtherPeersAlone) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Peer victim(kChatter, primary_abi(), kFastProbe);
  Peer other(kChatter, primary_abi(), kFastProbe);
  Survivor to_victim(open.net(), victim);
  Survivor to_other(open.net(), other);
  Pair loopback = connect_loopback(open.net());
  ASSERT_TRUE(loopback);
  ASSERT_TRUE(to_victim.exchanges());
  ASSERT_TRUE(to_other.exchanges());
  victim.channel().tell(kDie);
  victim.wait();
  ASSERT_TRUE(poll_until([&] {
    to_victim.advance_send();
    to_victim.advance_recv();
    to_other.advance_send();
    to_other.advance_recv();
    return to_victim.send.failed() && to_victim.recv.failed();
  }));
  to_victim.expect_clean_end();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(to_other.exchanges());
    EXPECT_TRUE(works(open.net(), loopback, 2000));
  }
  other.channel().tell(0);
  other.expect_success();
}

// Case 101, peer_sigstop, and 88: nothing blocks while the peer stands still, and nothing fails.
TEST(PeerStopped, IsNoError) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Peer peer(kChatter, primary_abi(), kFastProbe);
  Survivor survivor(open.net(), peer);
  Pair loopback = connect_loopback(open.net());
  ASSERT_TRUE(loopback);
  ASSERT_TRUE(survivor.exchanges());
  peer.channel().tell(kPause);
  ASSERT_TRUE(peer.wait_stopped());
  poll_for(milliseconds(sized(4'000, 60'000)), [&] {
    survivor.advance_send();
    survivor.advance_recv();
    ASSERT_EQ(survivor.send.result, NCCL_NET_SUCCESS) << "a stopped peer is not a dead one";
    ASSERT_EQ(survivor.recv.result, NCCL_NET_SUCCESS) << "a stopped peer is not a dead one";
  });
  EXPECT_TRUE(works(open.net(), loopback));
  peer.signal(SIGCONT);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(survivor.exchanges());
  peer.channel().tell(0);
  peer.expect_success();
  survivor.expect_clean_end();
}

// An idle connection is not a dead one, whatever the probe interval.
TEST(PeerStopped, SilenceIsNoError) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Peer peer(kKeepQuiet, primary_abi(), kFastProbe);
  Survivor survivor(open.net(), peer);
  poll_for(milliseconds(sized(2'500, 30'000)), [&] {
    survivor.advance_recv();
    ASSERT_EQ(survivor.recv.result, NCCL_NET_SUCCESS) << "the peer lives and says nothing";
  });
  peer.channel().tell(0);
  peer.expect_success();
  survivor.expect_clean_end();
}

// 3.8.3: the peer closed properly. Its partner's next work on the comm is a RemoteError.
TEST(PeerClosed, IsARemoteErrorForTheOtherSide) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  for (const bool receiver_closes : {true, false}) {
    Pair pair = connect_loopback(open.net());
    ASSERT_TRUE(pair);
    ASSERT_TRUE(works(open.net(), pair));
    Buffer memory(kFailingBytes);
    Mr mr(open.net(), receiver_closes ? pair.send.get() : pair.recv.get(), memory.bytes());
    EXPECT_EQ(receiver_closes ? pair.recv.close() : pair.send.close(), NCCL_NET_SUCCESS);
    Pending work;
    EXPECT_TRUE(poll_until([&] {
      if (!work.in_flight()) {
        work = receiver_closes ? try_isend(open.net(), pair.send, slice(memory.bytes(), mr))
                               : try_irecv(open.net(), pair.recv, {slice(memory.bytes(), mr)});
      }
      step(open.net(), work);
      return work.failed();
    })) << (receiver_closes ? "the sender" : "the receiver")
        << " never heard of it";
    EXPECT_EQ(work.result, NCCL_NET_REMOTE_ERROR);
    EXPECT_EQ(mr.deregister(), NCCL_NET_SUCCESS);
  }
}

enum class Step { kCloseSend, kCloseRecv, kKillPeer };

struct CloseOrder {
  const char* name;
  std::array<Step, 3> steps;
};

class CloseOrderMatrix : public testing::TestWithParam<CloseOrder> {};

// Case 99, close_order_matrix, with a peer process that closes, or dies, at each point.
TEST_P(CloseOrderMatrix, AlwaysSucceeds) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Peer peer(kKeepQuiet, primary_abi());
  Listener listener = open_listener(open.net());
  Pair pair = connect_to_peer(open.net(), peer.channel());
  ASSERT_TRUE(pair);
  ASSERT_EQ(peer.channel().hear(), 0);
  for (const Step now : GetParam().steps) {
    if (now == Step::kCloseSend) {
      EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
    }
    if (now == Step::kCloseRecv) {
      EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
    }
    if (now == Step::kKillPeer) {
      peer.signal(SIGKILL);
      peer.wait();
    }
  }
  Pair loopback = connect_to(open.net(), listener.comm, listener.handle);
  ASSERT_TRUE(loopback);
  EXPECT_TRUE(works(open.net(), loopback));
  EXPECT_EQ(listener.comm.close(), NCCL_NET_SUCCESS);
}

constexpr std::array kCloseOrders = {
    CloseOrder{"SendRecvKill", {Step::kCloseSend, Step::kCloseRecv, Step::kKillPeer}},
    CloseOrder{"RecvSendKill", {Step::kCloseRecv, Step::kCloseSend, Step::kKillPeer}},
    CloseOrder{"SendKillRecv", {Step::kCloseSend, Step::kKillPeer, Step::kCloseRecv}},
    CloseOrder{"RecvKillSend", {Step::kCloseRecv, Step::kKillPeer, Step::kCloseSend}},
    CloseOrder{"KillSendRecv", {Step::kKillPeer, Step::kCloseSend, Step::kCloseRecv}},
    CloseOrder{"KillRecvSend", {Step::kKillPeer, Step::kCloseRecv, Step::kCloseSend}},
};

INSTANTIATE_TEST_SUITE_P(Steps, CloseOrderMatrix, testing::ValuesIn(kCloseOrders),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace fabrail::conformance
