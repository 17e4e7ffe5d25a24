// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group I: connections and communicators on which nothing moves are reported, with what they wait
// for.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/log_lines.h"

namespace fabrail::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kMessage = 1 << 20;

const Environment kSoon{"FABRAIL_STALL_S=1"};
// Reports are fabrail's own: another plugin does not know the setting.
bool is_fabrail(const Net& net) { return std::string(net.name()) == "fabrail"; }
#define FABRAIL_ONLY(net) \
  if (!is_fabrail(net)) GTEST_SKIP() << "only fabrail reports stalls"

bool has(const std::string& line, const std::string& text) {
  return line.find(text) != std::string::npos;
}

// The reports that say `text`. On a busy machine there may be others, of a slow connection say.
std::vector<std::string> reports(const std::string& text) {
  std::vector<std::string> found;
  for (const LogLine& line : logged_lines()) {
    const bool stall = line.level == NCCL_NET_LOG_WARN && has(line.text, "stalled ");
    if (stall && has(line.text, text)) found.push_back(line.text);
  }
  return found;
}

bool was_logged(const std::string& text) {
  return std::ranges::any_of(logged_lines(),
                             [&](const LogLine& line) { return has(line.text, text); });
}

// Connects, and sends one message or receives one each time it is told to; the parent keeps it
// waiting.
constexpr int64_t kSend = 1;
constexpr int64_t kReceive = 2;

void wait_for_orders(Net& net, Channel& channel) {
  Pair pair = connect_to_peer(net, channel);
  ASSERT_TRUE(pair);
  channel.tell(0);
  Buffer memory(kMessage);
  for (int64_t told = channel.hear(); told == kSend || told == kReceive; told = channel.hear()) {
    Mr mr(net, told == kSend ? pair.send.get() : pair.recv.get(), memory.bytes());
    Pending work = told == kSend ? post_send(net, pair.send, slice(memory.bytes(), mr))
                                 : post_recv(net, pair.recv, {slice(memory.bytes(), mr)});
    EXPECT_TRUE(finish(net, {&work}));
    channel.tell(0);
  }
}
const Role kWaitsForOrders("wait_for_orders", wait_for_orders);

/// A peer process that waits for orders, connected to us.
struct OrderedPeer {
  explicit OrderedPeer(const Net& net)
      : peer(kWaitsForOrders, primary_abi()), pair(connect_to_peer(net, peer.channel())) {
    EXPECT_TRUE(pair);
    EXPECT_EQ(peer.channel().hear(), 0);
  }
  void order(int64_t what) { peer.channel().tell(what); }
  void end() {
    order(0);
    peer.expect_success();
  }

  Peer peer;
  Pair pair;
};

/// A receive for which nobody sends.
struct LonelyReceive {
  explicit LonelyReceive(const Net& net)
      : pair(connect_loopback(net)),
        memory(kMessage),
        mr(net, pair.recv.get(), memory.bytes()),
        request(post_recv(net, pair.recv, {slice(memory.bytes(), mr)})) {}

  Pair pair;
  Buffer memory;
  Mr mr;
  Pending request;
};

constexpr const char* kNoReceive = "waits for the peer to post the receive for message 0 (CTS)";
constexpr const char* kNoMessage = "waits for the peer to send message 0 (tag ";

TEST(Stall, OfASenderNamesThePeerAndTheReceiveThatIsMissing) {
  RUN_IN_OWN_PROCESS(kSoon);
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  OrderedPeer other(open.net());
  const Pair& pair = other.pair;
  Buffer memory(kMessage);
  Mr mr(open.net(), pair.send.get(), memory.bytes());
  Pending send;
  ASSERT_TRUE(poll_until([&] {
    send = try_isend(open.net(), pair.send, slice(memory.bytes(), mr));
    return !reports(kNoReceive).empty();
  })) << "nobody said that the sender waits";
  ASSERT_FALSE(send.in_flight());
  const std::string line = reports(kNoReceive).front();
  EXPECT_TRUE(has(line, "send communicator")) << line;
  EXPECT_TRUE(has(line, "process " + std::to_string(other.peer.pid()))) << line;
  EXPECT_TRUE(has(line, "0 messages started, 0 delivered, 0 requests open (0 bytes)")) << line;
  EXPECT_TRUE(has(line, "nothing moves for ")) << line;

  other.order(kReceive);
  send = post_send(open.net(), pair.send, slice(memory.bytes(), mr));
  EXPECT_TRUE(finish(open.net(), {&send}));
  EXPECT_EQ(other.peer.channel().hear(), 0);
  // It says so when it has found time to look.
  ASSERT_TRUE(poll_until([&] {
    EXPECT_FALSE(try_isend(open.net(), pair.send, slice(memory.bytes(), mr)).in_flight());
    return was_logged("moves again after ");
  })) << "nobody said that the sender moves again";
  other.end();
}

TEST(Stall, OfAReceiverNamesThePeerAndTheMessageThatIsMissing) {
  RUN_IN_OWN_PROCESS(kSoon);
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  OrderedPeer other(open.net());
  const Pair& pair = other.pair;
  Buffer memory(kMessage);
  Mr mr(open.net(), pair.recv.get(), memory.bytes());
  Pending recv = post_recv(open.net(), pair.recv, {slice(memory.bytes(), mr)});
  ASSERT_TRUE(poll_until([&] {
    step(open.net(), recv);
    return !reports(kNoMessage).empty();
  })) << "nobody said that the receiver waits";
  const std::string line = reports(kNoMessage).front();
  EXPECT_TRUE(has(line, "receive communicator")) << line;
  EXPECT_TRUE(has(line, "process " + std::to_string(other.peer.pid()))) << line;
  EXPECT_TRUE(has(line, "nothing of it has come")) << line;
  EXPECT_TRUE(has(line, "1 request open (1048576 bytes)")) << line;
  other.order(kSend);
  EXPECT_TRUE(finish(open.net(), {&recv})) << "a report is no failure";
  EXPECT_EQ(other.peer.channel().hear(), 0);
  other.end();
}

TEST(Stall, OfAConnectionNobodyAcceptsIsReported) {
  RUN_IN_OWN_PROCESS(kSoon);
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  Listener listener = open_listener(open.net());
  ASSERT_TRUE(listener.comm);
  ASSERT_TRUE(poll_until([&] {
    const PollResult polled = poll_connect(open.net(), listener.handle);
    EXPECT_EQ(polled.result, NCCL_NET_SUCCESS);
    EXPECT_EQ(polled.comm, nullptr);
    return !reports("waits for the peer to accept the connection").empty();
  }));
}

TEST(Stall, OfAListenerThatNobodyConnectsToIsReported) {
  RUN_IN_OWN_PROCESS(kSoon);
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  Listener listener = open_listener(open.net());
  ASSERT_TRUE(listener.comm);
  ASSERT_TRUE(poll_until([&] {
    EXPECT_EQ(poll_accept(open.net(), listener.comm).comm, nullptr);
    return !reports("waits for a peer to connect").empty();
  }));
}

// After 1, 2 and 4 seconds: a busy machine reports later, never sooner.
TEST(Stall, IsReportedAgainOnlyAfterTwiceTheTime) {
  RUN_IN_OWN_PROCESS(kSoon);
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  const auto begin = steady_clock::now();
  LonelyReceive recv(open.net());
  ASSERT_TRUE(poll_until([&] {
    step(open.net(), recv.request);
    return reports(kNoMessage).size() == 3;
  }));
  EXPECT_GT(steady_clock::now() - begin, milliseconds(3500));
}

TEST(Stall, OfManyCommunicatorsIsAFewLines) {
  RUN_IN_OWN_PROCESS(kSoon);
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  constexpr size_t kPairs = 24;
  const std::vector<Pair> pairs = connect_many(open.net(), kPairs);
  Buffer memory(kPairs * kMessage);
  std::vector<Mr> mrs;
  std::vector<Pending> receives;
  for (size_t i = 0; i < kPairs; ++i) {
    const Bytes part = memory.part(i * kMessage, kMessage);
    mrs.emplace_back(open.net(), pairs[i].recv.get(), part);
    receives.push_back(post_recv(open.net(), pairs[i].recv, {slice(part, mrs[i])}));
  }
  ASSERT_TRUE(poll_until([&] {
    for (Pending& recv : receives) step(open.net(), recv);
    return !reports("stalled as well: ").empty();
  }));
  EXPECT_LT(reports(kNoMessage).size(), kPairs);
}

TEST(Stall, IsNotReportedOnRequest) {
  RUN_IN_OWN_PROCESS({"FABRAIL_STALL_S=0"});
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  LonelyReceive recv(open.net());
  poll_for(milliseconds(1500), [&] { step(open.net(), recv.request); });
  EXPECT_TRUE(reports("").empty());
}

// SIGUSR2 by its number, as the setting wants it.
const Environment kDumpOnUsr2{"FABRAIL_DUMP_SIGNAL=" + std::to_string(SIGUSR2)};

void (*handler_of(int number))(int) {
  struct sigaction present {};
  EXPECT_EQ(sigaction(number, nullptr, &present), 0);
  return present.sa_handler;
}

TEST(DumpSignal, MakesNcclsNextCallSayWhatEverybodyWaitsFor) {
  RUN_IN_OWN_PROCESS(kDumpOnUsr2);
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  LonelyReceive recv(open.net());
  raise(SIGUSR2);
  ASSERT_TRUE(poll_until([&] {
    step(open.net(), recv.request);
    return was_logged(kNoMessage);
  }));
  EXPECT_TRUE(was_logged("device 0 ("));
  EXPECT_TRUE(was_logged("send communicator"));
}

TEST(DumpSignal, ThatTheApplicationHandlesStaysItsOwn) {
  RUN_IN_OWN_PROCESS(kDumpOnUsr2);
  static volatile sig_atomic_t handled = 0;
  signal(SIGUSR2, [](int) { handled = 1; });
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  raise(SIGUSR2);
  EXPECT_EQ(handled, 1);
  EXPECT_TRUE(was_logged("handles that signal already"));
}

TEST(DumpSignal, IsNotInstalledUnlessAskedFor) {
  RUN_IN_OWN_PROCESS();
  OpenNet open(primary_abi());
  EXPECT_EQ(handler_of(SIGUSR2), SIG_DFL);
}

TEST(DumpSignal, ThatMeansSomethingElseIsRefused) {
  RUN_IN_OWN_PROCESS({"FABRAIL_DUMP_SIGNAL=" + std::to_string(SIGSEGV)});
  const auto before = handler_of(SIGSEGV);  // sanitizers have one
  OpenNet open(primary_abi());
  FABRAIL_ONLY(open.net());
  EXPECT_EQ(handler_of(SIGSEGV), before);
  EXPECT_TRUE(was_logged("are free for use"));
}

}  // namespace
}  // namespace fabrail::conformance
