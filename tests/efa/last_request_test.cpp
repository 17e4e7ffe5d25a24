// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// NCCL calls the plugin only while it has requests. What the network still owes a peer then must
// not depend on more calls: a message for which the receiver's NIC had no room is sent again by
// libfabric, but only when it is called, and later messages that did arrive wait for it.
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/conformance/fixtures.h"
#include "tests/efa/network.h"

namespace fabrail::efa {
namespace {

using namespace conformance;

constexpr int kEager = 8;  // messages that need no announced receive
constexpr size_t kBytes = 64;
constexpr std::chrono::seconds kSoonEnough{40};
// The NIC's own attempts with one message, of which libfabric allows 3 after the first.
constexpr const char* kNextMessageFails = "break not-ready --node 0 --on send --times 4";
constexpr const char* kMessagesFail = "break not-ready --node 0 --on send";
constexpr useconds_t kAttemptsTakeUs = 20'000;

/// What A sends before its last message, and does not wait for.
enum class Before : int64_t {
  kAnnouncements,
  kFarewell,
  kFarewellNobodyTakes,  ///< for longer than A is patient
};

struct Ends {
  Pair pair;   ///< the one that is used
  Pair other;  ///< the one that A closes
};

Ends connect_twice(const Net& net, Channel& channel) {
  Ends ends;
  ends.pair = connect_to_peer(net, channel);
  ends.other = connect_to_peer(net, channel);
  return ends;
}

// B sends what A's receives are done with, then waits for one message of A.
void wait_for_last(Net& net, Channel& channel) {
  const Ends ends = connect_twice(net, channel);
  Buffer out(kBytes);
  Buffer in(kBytes);
  const Mr out_mr(net, ends.pair.send.get(), out.bytes());
  const Mr in_mr(net, ends.pair.recv.get(), in.bytes());
  fill_pattern(out.bytes(), 1);
  for (int i = 0; i < kEager; ++i)
    EXPECT_TRUE(send_one(net, ends.pair.send, slice(out.bytes(), out_mr)));
  Pending last = post_recv(net, ends.pair.recv, {slice(in.bytes(), in_mr)});
  channel.tell(0);
  const bool came = poll_until(
      [&] {
        step(net, last);
        return last.ended();
      },
      Deadline(kSoonEnough));
  EXPECT_TRUE(came) << "held back, as its sender makes no more calls";
  EXPECT_TRUE(!came || has_pattern(in.bytes(), 2));
  channel.tell(came ? 1 : 0);
  channel.hear();
}
const Role kWaitForLast("wait_for_last", wait_for_last);

// Before 2.0, whose efa-direct leaves that to the NIC.
bool libfabric_sends_again() {
  void* library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD);  // which the plugin opened
  auto* version = reinterpret_cast<decltype(&fi_version)>(dlsym(library, "fi_version"));
  return version() < FI_VERSION(2, 0);
}

// Of requests that are all done, each but the last is given back at once.
void expect_only_the_last_waits(const Net& net, std::vector<Pending>& all) {
  Pending& first = all.front();
  EXPECT_TRUE(poll_until([&] { return step(net, first), first.ended(); }));
  step(net, all.back());
  EXPECT_TRUE(!all.back().ended() || !libfabric_sends_again());
}

// Calls that no request of ours is done with: B sends less than these receives take.
void make_calls_until_heard(const Net& net, const RecvComm& recv, const Slice& slice, Peer& peer) {
  std::vector<Pending> idle;
  for (int i = 0; i <= kEager; ++i) idle.push_back(try_irecv(net, recv, {slice}));
  EXPECT_TRUE(poll_until([&] { return step(net, idle), peer.channel().pending(); }));
}

class LastRequest : public testing::TestWithParam<Before> {};

TEST_P(LastRequest, IsDoneWhenNothingMoreNeedsCalls) {
  RUN_IN_OWN_PROCESS({"FABRAIL_RAILS=1"});
  OpenNet open(primary_abi());
  const Net& net = open.net();
  Environment there = on_node(1);
  there.emplace_back("FABRAIL_RAILS=1");
  Peer peer(kWaitForLast, primary_abi(), there);
  Ends ends = connect_twice(net, peer.channel());
  Buffer out(kBytes);
  Buffer in(kBytes);
  const Mr out_mr(net, ends.pair.send.get(), out.bytes());
  const Mr in_mr(net, ends.pair.recv.get(), in.bytes());
  fill_pattern(out.bytes(), 2);
  ASSERT_EQ(peer.channel().hear(), 0);
  sim(kNextMessageFails);
  std::vector<Pending> all;
  if (GetParam() == Before::kAnnouncements) {
    for (int i = 0; i < kEager; ++i)
      all.push_back(try_irecv(net, ends.pair.recv, {slice(in.bytes(), in_mr)}));
    step(net, all.front());  // they leave
  } else {
    EXPECT_EQ(ends.other.send.close(), NCCL_NET_SUCCESS);
  }
  usleep(kAttemptsTakeUs);
  const bool in_vain = GetParam() == Before::kFarewellNobodyTakes;
  for (int i = 0; i < (in_vain ? 2 : 1); ++i)
    all.push_back(try_isend(net, ends.pair.send, slice(out.bytes(), out_mr)));
  usleep(kAttemptsTakeUs);  // one look at the queue shall bring all outcomes,
  sim(in_vain ? kMessagesFail : kNextMessageFails);  // and what is sent again at once fails again
  if (in_vain) expect_only_the_last_waits(net, all);
  ASSERT_TRUE(finish(net, all));
  if (in_vain) {
    sim("mend");
    make_calls_until_heard(net, ends.pair.recv, slice(in.bytes(), in_mr), peer);
  }
  EXPECT_EQ(peer.channel().hear(), 1);  // otherwise without a call
  peer.channel().tell(0);
  peer.expect_success();
}

std::string name_of(const testing::TestParamInfo<Before>& info) {
  if (info.param == Before::kFarewellNobodyTakes) return "FarewellNobodyTakes";
  return info.param == Before::kAnnouncements ? "Announcements" : "Farewell";
}
INSTANTIATE_TEST_SUITE_P(After, LastRequest,
                         testing::Values(Before::kAnnouncements, Before::kFarewell,
                                         Before::kFarewellNobodyTakes),
                         name_of);

}  // namespace
}  // namespace fabrail::efa
