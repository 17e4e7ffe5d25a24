// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Cases 56 and 97, and section 3.8: NCCL's abort order. The progress thread is gone, requests are
// outstanding, the peer still sends: deregMr, free the memory, then close. Nothing may touch it.
#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

using std::chrono::milliseconds;

constexpr size_t kAbortedBytes = 1 << 20;
constexpr size_t kDepth = 8;

// Sends until the plugin says that the peer is gone; anything but RemoteError is a failure.
void send_until_refused(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  Buffer memory(kAbortedBytes);
  Mr mr(net, pair.send.get(), memory.bytes());
  fill_pattern(memory.bytes(), 56);
  std::vector<Pending> sends(kDepth);
  const auto failed = [](const Pending& p) { return p.failed(); };
  EXPECT_TRUE(poll_until([&] {
    for (Pending& send : sends) {
      if (!send.posted() || send.done) send = try_isend(net, pair.send, slice(memory.bytes(), mr));
      step(net, send);
    }
    return std::any_of(sends.begin(), sends.end(), failed);
  })) << "the receiver closed and the sender never heard of it";
  const auto first = std::find_if(sends.begin(), sends.end(), failed);
  if (first != sends.end()) {
    EXPECT_EQ(first->result, NCCL_NET_REMOTE_ERROR);
  }
  EXPECT_EQ(mr.deregister(), NCCL_NET_SUCCESS);
  EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
}
const Role kSendUntilRefused("send_until_refused", send_until_refused);

std::vector<Pending> post_receives(const Net& net, const RecvComm& comm, const Pages& memory,
                                   const Mr& mr) {
  std::vector<Pending> receives(kDepth);
  for (size_t i = 0; i < kDepth; ++i) {
    const Bytes part = memory.bytes().subspan(i * kAbortedBytes, kAbortedBytes);
    receives[i] = post_recv(net, comm, {slice(part, mr)});
    EXPECT_TRUE(receives[i].posted());
  }
  return receives;
}

// Traffic runs: every receive completed and was posted again.
void run_some_traffic(const Net& net, const RecvComm& comm, const Pages& memory, const Mr& mr) {
  auto receives = post_receives(net, comm, memory, mr);
  ASSERT_TRUE(finish(net, receives));
  for (size_t i = 0; i < kDepth; ++i) {
    EXPECT_TRUE(has_pattern(memory.bytes().subspan(i * kAbortedBytes, kAbortedBytes), 56));
  }
  receives = post_receives(net, comm, memory, mr);
  for (int i = 0; i < 20; ++i) step(net, receives[0]);
}

enum class Fate { kForbidden, kReplaced };

class AbortOrder : public testing::TestWithParam<Fate> {};

// Case 56, dereg_with_inflight, at the receiver.
TEST_P(AbortOrder, NothingReachesMemoryThatTheReceiverDeregistered) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Net& net = open.net();
  Peer peer(kSendUntilRefused, primary_abi(), kFastProbe);
  Pair pair = connect_to_peer(net, peer.channel());
  Pair bystander = connect_loopback(net);
  ASSERT_TRUE(pair && bystander);
  Pages memory(kDepth * kAbortedBytes);
  Mr mr(net, pair.recv.get(), memory.bytes());
  run_some_traffic(net, pair.recv, memory, mr);
  EXPECT_EQ(mr.deregister(), NCCL_NET_SUCCESS);
  GetParam() == Fate::kForbidden ? memory.forbid() : memory.replace();
  // The device goes on for others, and takes what the peer still sends with it.
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(works(net, bystander, 100'000));
  EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(works(net, bystander, 100'000));
  peer.expect_success();
  EXPECT_TRUE(works(net, bystander));
  if (GetParam() == Fate::kReplaced) {
    EXPECT_TRUE(holds_only(memory.bytes(), kCanary)) << "written after deregMr";
  }
}

// Receives `kDepth` messages into fresh memory, one after the other, until done or refused; each
// that is done must be whole.
void receive_until_refused(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  Buffer memory(kAbortedBytes);
  Mr mr(net, pair.recv.get(), memory.bytes());
  Result last = NCCL_NET_SUCCESS;
  for (int64_t expected = channel.hear(); last == NCCL_NET_SUCCESS; --expected) {
    memory.clear();
    Pending recv = post_recv(net, pair.recv, {slice(memory.bytes(), mr)});
    EXPECT_TRUE(run_to_end(net, recv)) << "the sender closed and the receiver never heard of it";
    if (recv.done) {
      EXPECT_TRUE(has_pattern(memory.bytes(), 56)) << "done, and not what was sent";
    }
    if (recv.done) {
      EXPECT_GT(expected, 0) << "more messages than were sent";
    }
    last = recv.result;
    if (!recv.ended()) return;
  }
  EXPECT_EQ(last, NCCL_NET_REMOTE_ERROR);
  EXPECT_EQ(mr.deregister(), NCCL_NET_SUCCESS);
  EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
}
const Role kReceiveUntilRefused("receive_until_refused", receive_until_refused);

// Case 56 at the sender: after deregMr the memory changes; no receive may end with the new bytes.
TEST_P(AbortOrder, NothingLeavesMemoryThatTheSenderDeregistered) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Net& net = open.net();
  Peer peer(kReceiveUntilRefused, primary_abi(), kFastProbe);
  Pair pair = connect_to_peer(net, peer.channel());
  Pair bystander = connect_loopback(net);
  ASSERT_TRUE(pair && bystander);
  Pages memory(kAbortedBytes);
  fill_pattern(memory.bytes(), 56);
  Mr mr(net, pair.send.get(), memory.bytes());
  peer.channel().tell(kDepth);
  std::vector<Pending> sends;
  while (sends.size() < kDepth) {  // the last few are still on their way when the memory goes
    Pending send = try_isend(net, pair.send, slice(memory.bytes(), mr));
    ASSERT_FALSE(send.failed());
    if (send.posted()) sends.push_back(send);
    if (sends.size() > 4) break;
    step(net, sends);
  }
  EXPECT_EQ(mr.deregister(), NCCL_NET_SUCCESS);
  GetParam() == Fate::kForbidden ? memory.forbid() : memory.replace();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(works(net, bystander, 100'000));
  EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
  peer.expect_success();
  EXPECT_TRUE(works(net, bystander));
}

INSTANTIATE_TEST_SUITE_P(Memory, AbortOrder, testing::Values(Fate::kForbidden, Fate::kReplaced),
                         [](const auto& row) {
                           return row.param == Fate::kForbidden ? "Forbidden" : "MappedAgain";
                         });

// The same inside one process, where both ends share the device's progress.
TEST(Abort, InOneProcessReceiverFirst) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Net& net = open.net();
  Pair pair = connect_loopback(net);
  Pair bystander = connect_loopback(net);
  ASSERT_TRUE(pair && bystander);
  Buffer from(kAbortedBytes);
  Pages to(kDepth * kAbortedBytes);
  Mr from_mr(net, pair.send.get(), from.bytes());
  Mr to_mr(net, pair.recv.get(), to.bytes());
  auto receives = post_receives(net, pair.recv, to, to_mr);
  std::vector<Pending> sends;
  for (size_t i = 0; i < kDepth / 2; ++i) {
    sends.push_back(post_send(net, pair.send, slice(from.bytes(), from_mr), {&receives[0]}));
    ASSERT_TRUE(sends.back().posted());
  }
  EXPECT_EQ(to_mr.deregister(), NCCL_NET_SUCCESS);
  to.replace();
  EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(works(net, bystander, 100'000));
  EXPECT_TRUE(holds_only(to.bytes(), kCanary)) << "written after deregMr";
  EXPECT_TRUE(poll_until([&] {  // the sender hears of it, from what it sent or what it sends next
    Pending next = try_isend(net, pair.send, slice(from.bytes(), from_mr));
    if (next.posted()) sends.push_back(next);
    step(net, sends);
    return next.failed() ||
           std::any_of(sends.begin(), sends.end(), [](const Pending& p) { return p.failed(); });
  }));
  EXPECT_EQ(from_mr.deregister(), NCCL_NET_SUCCESS);
  EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
  EXPECT_TRUE(works(net, bystander));
}

// Case 97, close_inflight_send: close with requests outstanding and registrations alive.
TEST(Abort, ClosesWithRequestsOutstanding) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Net& net = open.net();
  Pair bystander = connect_loopback(net);
  ASSERT_TRUE(bystander);
  for (const bool sender_first : {true, false}) {
    Buffer from(kAbortedBytes);
    Pages to(kDepth * kAbortedBytes);
    Pair pair = connect_loopback(net);
    ASSERT_TRUE(pair);
    Mr from_mr(net, pair.send.get(), from.bytes());
    Mr to_mr(net, pair.recv.get(), to.bytes());
    from_mr.leak();
    to_mr.leak();
    auto receives = post_receives(net, pair.recv, to, to_mr);
    Pending send = post_send(net, pair.send, slice(from.bytes(), from_mr), {&receives[0]});
    ASSERT_TRUE(send.posted());
    if (sender_first) {
      EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
    }
    EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
    if (!sender_first) {
      EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
    }
    to.replace();
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(works(net, bystander, 100'000));
    EXPECT_TRUE(holds_only(to.bytes(), kCanary)) << "written after close";
  }
}

}  // namespace
}  // namespace fabrail::conformance
