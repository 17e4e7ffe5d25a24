// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Peers that are set up differently: a warning that names both sides, or an error on request.
#include <algorithm>
#include <string>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/log_lines.h"

namespace fabrail::conformance {
namespace {

bool is_fabrail(const Net& net) { return std::string(net.name()) == "fabrail"; }

// Whatever the fabric's own number is.
const Environment kTwoRails{"FABRAIL_RAILS=2"};
const Environment kThreeRails{"FABRAIL_RAILS=3"};
constexpr const char* kRequired = "FABRAIL_REQUIRE=rails=1";

int64_t warnings_of(const std::string& text) {
  return std::ranges::count_if(logged_lines(), [&](const LogLine& line) {
    return line.level == NCCL_NET_LOG_WARN && line.text.find(text) != std::string::npos;
  });
}

void connect_twice(Net& net, Channel& channel) {
  for (int i = 0; i < 2; ++i) {
    Pair pair = connect_to_peer(net, channel);
    EXPECT_TRUE(pair);
    channel.hear();
  }
  channel.tell(warnings_of("rails 3 here, 2 there"));
}
const Role kConnectTwice("connect_twice", connect_twice);

TEST(Agreement, IsMissedWithOneWarningOnEachSide) {
  RUN_IN_OWN_PROCESS(kTwoRails);
  OpenNet open(primary_abi());
  if (!is_fabrail(open.net())) GTEST_SKIP() << "the words are fabrail's";
  Peer peer(kConnectTwice, primary_abi(), kThreeRails);
  for (int i = 0; i < 2; ++i) {
    Pair pair = connect_to_peer(open.net(), peer.channel());
    EXPECT_TRUE(pair) << "the smaller number of rails is used";
    peer.channel().tell(0);
  }
  EXPECT_EQ(warnings_of("rails 2 here, 3 there"), 1);
  EXPECT_EQ(peer.channel().hear(), 1);
  peer.expect_success();
}

// Says what connect to the other side, or accept from it, came to.
Result result_of_connecting(const Net& net, Handle& theirs, const ListenComm* listener) {
  Result result = NCCL_NET_SUCCESS;
  poll_until([&] {
    const PollResult polled =
        listener != nullptr ? poll_accept(net, *listener) : poll_connect(net, theirs);
    result = polled.result;
    return result != NCCL_NET_SUCCESS || polled.comm != nullptr;
  });
  return result;
}

void accept_once(Net& net, Channel& channel) {
  Listener listener = open_listener(net);
  ASSERT_TRUE(channel.send(listener.handle));
  channel.tell(result_of_connecting(net, listener.handle, &listener.comm));
  // Answers to what has arrived leave only while somebody calls.
  while (!channel.pending()) poll_accept(net, listener.comm);
}
const Role kAcceptOnce("accept_once", accept_once);

TEST(Agreement, IsRequiredOfBothSides) {
  RUN_IN_OWN_PROCESS({"FABRAIL_RAILS=2", kRequired});
  OpenNet open(primary_abi());
  if (!is_fabrail(open.net())) GTEST_SKIP() << "the words are fabrail's";
  Peer peer(kAcceptOnce, primary_abi(), {"FABRAIL_RAILS=3", kRequired});
  Handle theirs;
  ASSERT_TRUE(peer.channel().receive(theirs));
  EXPECT_EQ(result_of_connecting(open.net(), theirs, nullptr), NCCL_NET_INVALID_USAGE);
  EXPECT_EQ(peer.channel().hear(), NCCL_NET_INVALID_USAGE);
  EXPECT_GE(warnings_of("FABRAIL_REQUIRE: this side (host "), 1);
  EXPECT_GE(warnings_of("rails 2 here, 3 there"), 1);
  peer.channel().tell(0);
  peer.expect_success();
}

}  // namespace
}  // namespace fabrail::conformance
