// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Posting and completing messages the way NCCL's progress thread does: NULL means "again later",
// test is called round robin, nothing blocks.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "tests/conformance/comms.h"
#include "tests/conformance/deadline.h"
#include "tests/conformance/net.h"

namespace fabrail::conformance {

inline constexpr int kTag = 7;

/// One message's memory at one side.
struct Slice {
  void* data = nullptr;
  size_t size = 0;
  void* mhandle = nullptr;
  int tag = kTag;
};

inline Slice slice(Bytes bytes, const Mr& mr, int tag = kTag) {
  return {bytes.data(), bytes.size(), mr.get(), tag};
}

/// A request that was posted, or the error that came instead.
struct Pending {
  void* request = nullptr;
  int count = 0;  ///< how many sizes test writes
  bool done = false;
  Result result = NCCL_NET_SUCCESS;
  std::array<int, kMaxGroup> sizes{};
  // Of receives into a GPU's memory, which are not done before they are flushed.
  void* flushed_comm = nullptr;
  std::array<void*, kMaxGroup> data{};
  std::array<void*, kMaxGroup> mhandles{};
  bool flushing = false;

  bool posted() const { return request != nullptr; }
  bool failed() const { return result != NCCL_NET_SUCCESS; }
  bool ended() const { return done || failed(); }
  bool in_flight() const { return posted() && !ended(); }
};

/// What a receive's request slot may hold when it goes in: NULL, or in v9 and newer NCCL's hint
/// that the completion is optional (LL and LL128).
enum class Hint { kNone, kOptionalCompletion };

/// One call. Not posted and not failed: the plugin said "not now".
Pending try_isend(const Net& net, const SendComm& comm, const Slice& from);
Pending try_irecv(const Net& net, const RecvComm& comm, const std::vector<Slice>& to,
                  Hint hint = Hint::kNone);

/// One call of test if the request is in flight. Checks that `done` and the sizes are written as
/// NCCL reads them: exactly `count` sizes when done, none before.
void step(const Net& net, Pending& pending);
void step(const Net& net, std::vector<Pending>& pending);

/// Flushes a receive that is done, if it was into a GPU's memory; step() does that by itself.
testing::AssertionResult flush(const Net& net, Pending& receive);

/// Posts, polling until the plugin takes it, while `meanwhile` progresses.
Pending post_send(const Net& net, const SendComm& comm, const Slice& from,
                  std::initializer_list<Pending*> meanwhile = {});
Pending post_recv(const Net& net, const RecvComm& comm, const std::vector<Slice>& to,
                  std::initializer_list<Pending*> meanwhile = {});

/// Tests all until all are done; fails on the first error or when the deadline passes.
testing::AssertionResult finish(const Net& net, std::initializer_list<Pending*> all);
testing::AssertionResult finish(const Net& net, std::vector<Pending>& all);

/// Tests until `pending` ends, well or badly; false at the deadline.
bool run_to_end(const Net& net, Pending& pending);

/// Post and complete in one go. The receive gives its size, or -1.
testing::AssertionResult send_one(const Net& net, const SendComm& comm, const Slice& from);
int receive_one(const Net& net, const RecvComm& comm, const Slice& to);

/// One message through a loopback pair, both requests tested alternately.
testing::AssertionResult transfer(const Net& net, const Pair& pair, const Slice& from,
                                  const Slice& to);

/// A few messages with fresh memory and patterns: is this pair (still) good?
testing::AssertionResult works(const Net& net, const Pair& pair, size_t size = 4096,
                               int messages = 3);

/// max_recvs of device 0, never more than an irecv can carry.
int max_group(const Net& net);

}  // namespace fabrail::conformance
