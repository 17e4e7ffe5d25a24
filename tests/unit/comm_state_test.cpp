// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The words for what a communicator waits for.
#include "src/transport/comm_state.h"

#include <gtest/gtest.h>

namespace fabrail::transport {
namespace {

CommState sender() {
  return {.kind = CommKind::kSend,
          .name = 0x1234,
          .remote = 0xabcdef01,
          .peer = "host b, process 7",
          .nics = "rdmap0s1 rdmap0s2",
          .rails = 2,
          .error = {}};
}

bool says(const CommState& state, const std::string& text) {
  return describe(state).find(text) != std::string::npos;
}

TEST(CommState, NamesBothEndsAndTheRails) {
  EXPECT_EQ(
      describe(sender()),
      "send communicator 00001234 with abcdef01 of the peer (host b, process 7), 2 rails "
      "(rdmap0s1 rdmap0s2): idle; 0 messages started, 0 delivered, 0 requests open (0 bytes)");
}

TEST(CommState, SaysWhatIsAwaited) {
  CommState state = sender();
  state.waits_for = WaitsFor::kCompletion;
  state.operations = 1;
  EXPECT_TRUE(says(state, "waits for the completion of 1 operation;"));
  state.needs_peers_test = true;
  EXPECT_TRUE(says(state, "1 operation, for which the peer may have to call test();"));
  state.waits_for = WaitsFor::kFetch;
  state.operations = 2;
  EXPECT_TRUE(says(state, "waits for the peer to fetch 2 messages"));
  state.queued = 3;
  EXPECT_TRUE(says(state, "libfabric has not taken 3 operations"));
  state.waits_for = WaitsFor::kOwnSend;
  EXPECT_TRUE(says(state, "isend could not take it"));
}

TEST(CommState, SaysWhichPartOfAMessageIsMissing) {
  CommState state = sender();
  state.kind = CommKind::kRecv;
  state.waits_for = WaitsFor::kMessage;
  state.sequence = 41;
  state.tag = 3;
  state.stripes = 1;
  EXPECT_TRUE(says(state, "message 41 (tag 3): 1 stripes have come")) << describe(state);
  state.expected = 4;
  EXPECT_TRUE(says(state, "1 of 4 stripes have come")) << describe(state);
  state.waits_for = WaitsFor::kReads;
  state.operations = 5;
  EXPECT_TRUE(says(state, "waits for 5 reads of the peer's memory"));
  state.waits_for = WaitsFor::kOwnNic;
  EXPECT_TRUE(says(state, "waits for its own NIC to finish 5 operations on GPU memory"));
  state.waits_for = WaitsFor::kReplySent;
  EXPECT_TRUE(says(state, "waits for its answer"));
  state.waits_for = WaitsFor::kOwnTest;
  EXPECT_TRUE(says(state, "waits for test()"));
}

TEST(CommState, OfAFailedOneIsItsError) {
  CommState state = sender();
  state.error = "the peer is gone";
  EXPECT_TRUE(describe(state).ends_with(": failed: the peer is gone"));
}

TEST(Duration, HasOneUnit) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(299'999), "299 s");
  EXPECT_EQ(duration_text(300'000), "5 min");
  EXPECT_EQ(duration_text(5 * 3'600'000), "5 h");
}

}  // namespace
}  // namespace fabrail::transport
