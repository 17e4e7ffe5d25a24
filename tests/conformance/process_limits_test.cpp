// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Cases 107 and 109, and section 3.9: fork, signals, and what happens when the process may not have
// more descriptors or larger files.
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/log_lines.h"

namespace fabrail::conformance {
namespace {

// A child as PyTorch's data loaders make them: it inherits everything and ends with exit().
void fork_and_exit() {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) std::exit(0);
  const int status = wait_for_exit(child, 60);
  EXPECT_TRUE(WIFEXITED(status)) << "the child did not end by itself";
}

void answer_until_told(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  Buffer memory(1 << 20);
  Mr send_mr(net, pair.send.get(), memory.bytes());
  Mr recv_mr(net, pair.recv.get(), memory.bytes());
  for (int64_t left = channel.hear(); left > 0; --left) {
    const int size = receive_one(net, pair.recv, slice(memory.bytes(), recv_mr));
    ASSERT_GE(size, 0);
    ASSERT_TRUE(
        send_one(net, pair.send, slice(memory.part(0, static_cast<size_t>(size)), send_mr)));
  }
  channel.tell(0);
  channel.hear();
}
const Role kAnswerUntilTold("answer_until_told", answer_until_told);

// 3.9: fork in the middle of it all. The child's exit must not touch the parent's connections.
TEST(Fork, LeavesTheParentsCommsAlone) {
  RUN_IN_OWN_PROCESS();
  OpenNet open(primary_abi());
  Net& net = open.net();
  Peer peer(kAnswerUntilTold, primary_abi());
  Pair pair = connect_to_peer(net, peer.channel());
  Pair loopback = connect_loopback(net);
  ASSERT_TRUE(pair && loopback);
  Buffer out(1 << 20);
  Buffer in(1 << 20);
  Mr out_mr(net, pair.send.get(), out.bytes());
  Mr in_mr(net, pair.recv.get(), in.bytes());
  constexpr std::array<size_t, 6> kSizes = {8, 1 << 20, 4096, 64, 100'000, 1};
  peer.channel().tell(std::ssize(kSizes));
  for (const size_t size : kSizes) {
    fill_pattern(out.part(0, size), size);
    Pending recv = post_recv(net, pair.recv, {slice(in.bytes(), in_mr)});
    Pending send = post_send(net, pair.send, slice(out.part(0, size), out_mr), {&recv});
    fork_and_exit();
    ASSERT_TRUE(finish(net, {&send, &recv})) << size;
    EXPECT_EQ(recv.sizes[0], static_cast<int>(size));
    EXPECT_TRUE(has_pattern(in.part(0, size), size));
    EXPECT_TRUE(works(net, loopback));
  }
  EXPECT_EQ(peer.channel().hear(), 0);
  peer.channel().tell(0);
  peer.expect_success();
}

// Inherited descriptors may keep the parent's connections open for a while after its death.
void fork_a_sleeper_and_die(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  const pid_t sleeper = fork();
  if (sleeper == 0) {
    for (;;) pause();
  }
  channel.tell(sleeper);
  kill(getpid(), SIGKILL);
}
const Role kForkASleeperAndDie("fork_a_sleeper_and_die", fork_a_sleeper_and_die);

// 3.9: the survivor hears of the death while the child lives or, at the latest, when the child is
// gone too. (A stopped peer looks the same as long as the child holds the connection open.)
TEST(Fork, ChildrenHideTheParentsDeathNoLongerThanTheyLive) {
  RUN_IN_OWN_PROCESS(kFastProbe);
  OpenNet open(primary_abi());
  Net& net = open.net();
  Peer peer(kForkASleeperAndDie, primary_abi(), kFastProbe);
  Pair pair = connect_to_peer(net, peer.channel());
  ASSERT_TRUE(pair);
  Buffer in(1 << 20);
  Mr in_mr(net, pair.recv.get(), in.bytes());
  const auto sleeper = static_cast<pid_t>(peer.channel().hear());
  ASSERT_GT(sleeper, 0);
  peer.wait();
  Pending recv = post_recv(net, pair.recv, {slice(in.bytes(), in_mr)});
  poll_for(std::chrono::seconds(2), [&] { step(net, recv); });
  kill(sleeper, SIGKILL);
  EXPECT_TRUE(run_to_end(net, recv)) << "the survivor never heard of it";
  EXPECT_EQ(recv.result, NCCL_NET_REMOTE_ERROR);
}

volatile std::sig_atomic_t alarms = 0;
void count_alarm(int) { alarms = alarms + 1; }

/// SIGALRM a thousand times a second, without SA_RESTART: every blocking call sees EINTR.
class Alarms {
 public:
  Alarms() {
    struct sigaction action {};
    action.sa_handler = count_alarm;
    sigaction(SIGALRM, &action, nullptr);
    set(1000);
  }
  ~Alarms() { set(0); }
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

 private:
  static void set(suseconds_t interval_us) {
    const itimerval timer{{0, interval_us}, {0, interval_us}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

// Case 109, signals_eintr.
TEST(Signals, DoNotDisturbAnything) {
  RUN_IN_OWN_PROCESS();
  const Alarms thousand_a_second;
  OpenNet open(primary_abi());
  for (int round = 0; round < 20 || alarms < 200; ++round) {
    Pair pair = connect_loopback(open.net());
    ASSERT_TRUE(pair);
    ASSERT_TRUE(works(open.net(), pair, 200'000, 5));
    ASSERT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
    ASSERT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
  }
}

rlim_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<rlim_t>(std::distance(begin(all), end(all)));
}

/// Lowers a soft limit for its lifetime.
class Limit {
 public:
  Limit(__rlimit_resource_t what, rlim_t value) : what_(what) {
    getrlimit(what_, &before_);
    const rlimit lowered{value, before_.rlim_max};
    EXPECT_EQ(setrlimit(what_, &lowered), 0);
  }
  ~Limit() { setrlimit(what_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource_t what_;
  rlimit before_{};
};

// The first error on the way to a connected pair, or success.
Result try_to_connect(const Net& net) {
  Handle handle;
  void* listening = nullptr;
  Result result = net.listen(0, handle.bytes.data(), &listening);
  if (result != NCCL_NET_SUCCESS) return result;
  ListenComm listen(net, listening);
  Pair pair;
  poll_until([&] {
    const PollResult c = pair.send ? PollResult{} : poll_connect(net, handle);
    if (c.comm != nullptr) pair.send = SendComm(net, c.comm);
    const PollResult a = pair.recv ? PollResult{} : poll_accept(net, listen);
    if (a.comm != nullptr) pair.recv = RecvComm(net, a.comm);
    result = c.result != NCCL_NET_SUCCESS ? c.result : a.result;
    return result != NCCL_NET_SUCCESS || pair;
  });
  EXPECT_TRUE(result != NCCL_NET_SUCCESS || pair) << "neither connected nor refused";
  return result;
}

// A failure must be an error of its kind, with a warning; the same one need not be said twice.
void expect_clean(Result result, const char* what) {
  if (result == NCCL_NET_SUCCESS) return;
  EXPECT_TRUE(result == NCCL_NET_SYSTEM_ERROR || result == NCCL_NET_REMOTE_ERROR)
      << what << ": " << result;
  EXPECT_GT(logged_warnings(), 0) << what << ": the user was told nothing";
}

// Case 107, enospc_emfile: a few descriptors left, then one, then none.
TEST(Limits, RunningOutOfDescriptorsIsASystemError) {
  RUN_IN_OWN_PROCESS(kFastTimeout);
  OpenNet open(primary_abi());
  for (const rlim_t left : {0u, 1u, 2u, 3u, 5u, 8u}) {
    const Limit descriptors(RLIMIT_NOFILE, open_descriptors() - 1 + left);
    expect_clean(try_to_connect(open.net()), "RLIMIT_NOFILE");
  }
  Pair pair = connect_loopback(open.net());
  ASSERT_TRUE(pair) << "the limit is gone and it still fails";
  EXPECT_TRUE(works(open.net(), pair));
}

// Case 107: as when /dev/shm is full, files cannot grow.
TEST(Limits, RunningOutOfFileSpaceIsASystemError) {
  RUN_IN_OWN_PROCESS(kFastTimeout);
  signal(SIGXFSZ, SIG_IGN);
  OpenNet open(primary_abi());
  {
    const Limit size(RLIMIT_FSIZE, 4096);
    expect_clean(try_to_connect(open.net()), "RLIMIT_FSIZE");
  }
  Pair pair = connect_loopback(open.net());
  ASSERT_TRUE(pair) << "the limit is gone and it still fails";
  EXPECT_TRUE(works(open.net(), pair));
}

}  // namespace
}  // namespace fabrail::conformance
