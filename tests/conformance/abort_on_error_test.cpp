// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// FABRAIL_ABORT_ON_ERROR: a failed communicator ends the process, if that was asked for.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <string>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

constexpr size_t kMessage = 1 << 16;
constexpr int64_t kMisused = 1;  // told when calls with bad arguments have come back

// Misuses the plugin, which ends nobody, then waits for a message from a peer that closes.
void wait_for_the_closed(Net& net, Channel& channel) {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  void* request = nullptr;
  EXPECT_NE(net.isend(nullptr, nullptr, 0, 0, nullptr, &request), NCCL_NET_SUCCESS);
  Buffer memory(kMessage);
  Mr mr(net, pair.recv.get(), memory.bytes());
  Pending recv = post_recv(net, pair.recv, {slice(memory.bytes(), mr)});
  channel.tell(kMisused);
  EXPECT_TRUE(poll_until([&] {
    step(net, recv);
    return recv.failed();
  }));
}
const Role kWaitsForTheClosed("wait_for_the_closed", wait_for_the_closed);

// The wait status of the process above.
int status_with(const Environment& environment) {
  OpenNet open(primary_abi());
  Peer peer(kWaitsForTheClosed, primary_abi(), environment);
  Pair pair = connect_to_peer(open.net(), peer.channel());
  EXPECT_TRUE(pair);
  EXPECT_EQ(peer.channel().hear(), kMisused);
  EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
  EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
  // What was sent last leaves only while somebody calls: here on every rail.
  Pair loopback = connect_loopback(open.net());
  Buffer memory(kMessage);
  Mr mr(open.net(), loopback.recv.get(), memory.bytes());
  Pending recv = post_recv(open.net(), loopback.recv, {slice(memory.bytes(), mr)});
  siginfo_t ended{};
  poll_until([&] {
    step(open.net(), recv);
    waitid(P_PID, static_cast<id_t>(peer.pid()), &ended, WEXITED | WNOHANG | WNOWAIT);
    return ended.si_pid == peer.pid();
  });
  return peer.wait();
}

TEST(AbortOnError, EndsTheProcessWhenAskedTo) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  const int status = status_with({"FABRAIL_ABORT_ON_ERROR=1", kFastProbe.front()});
  if (std::string(Net(library(), primary_abi()).name()) != "fabrail") {
    GTEST_SKIP() << "only fabrail knows the setting";
  }
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

TEST(AbortOnError, IsOffOtherwise) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  EXPECT_EQ(status_with(kFastProbe), 0);
}

}  // namespace
}  // namespace fabrail::conformance
