// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Many messages in a row with eight in flight, as a channel of NCCL sends them. Each message has
// its own size and pattern, so that a lost, doubled or swapped one shows.
#pragma once

#include <array>
#include <cstdint>

#include "tests/conformance/comms.h"
#include "tests/conformance/transfer.h"

namespace fabrail::conformance {

/// What both sides know: how many messages, and how large each one is (at most `room`).
struct StreamPlan {
  uint64_t count;
  size_t room;
  size_t (*size_of)(uint64_t number);
  uint64_t first_pattern = 0;  ///< tells the messages of one stream from those of another
};

inline constexpr size_t kStreamDepth = 8;

class SendStream {
 public:
  SendStream(const Net& net, const SendComm& comm, const StreamPlan& plan);
  /// Tests what is in flight and posts the next message if there is room. Errors fail the test.
  void advance();
  bool done() const { return completed_ == plan_.count; }

 private:
  const Net& net_;
  const SendComm& comm_;
  StreamPlan plan_;
  Buffer memory_;
  Mr mr_;
  std::array<Pending, kStreamDepth> slots_{};
  uint64_t posted_ = 0;
  uint64_t completed_ = 0;
};

class RecvStream {
 public:
  RecvStream(const Net& net, const RecvComm& comm, const StreamPlan& plan);
  /// Posts the next receive if there is room, and compares the oldest one when it is done.
  void advance();
  bool done() const { return completed_ == plan_.count; }
  uint64_t completed() const { return completed_; }
  testing::AssertionResult intact() const { return memory_.intact(); }

 private:
  void compare(const Pending& oldest);

  const Net& net_;
  const RecvComm& comm_;
  StreamPlan plan_;
  Buffer memory_;
  Mr mr_;
  std::array<Pending, kStreamDepth> slots_{};
  uint64_t posted_ = 0;
  uint64_t completed_ = 0;
};

/// Runs both to their end; stops early when an assertion failed.
void run_streams(SendStream& send, RecvStream& recv, const Deadline& deadline);

}  // namespace fabrail::conformance
