// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group E, cases 68 to 70: how much may be outstanding, and that a NULL request leaves nothing
// behind.
#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

using std::chrono::milliseconds;

constexpr size_t kGroups = NCCL_NET_MAX_REQUESTS;

/// Messages of one size, each with its number's pattern in memory of its own.
class Depth : public PrimaryTest, public testing::WithParamInterface<size_t> {
 protected:
  void open(size_t messages) {
    size_ = GetParam();
    pair_ = connect_loopback(net());
    ASSERT_TRUE(pair_);
    from_.emplace(messages * size_);
    to_.emplace(messages * size_);
    from_mr_.emplace(net(), pair_.send.get(), from_->bytes());
    to_mr_.emplace(net(), pair_.recv.get(), to_->bytes());
  }
  void TearDown() override {
    from_mr_.reset();
    to_mr_.reset();
  }

  Slice message(size_t number, int tag = kTag) {
    const Bytes part = from_->part(number * size_, size_);
    fill_pattern(part, number);
    return slice(part, *from_mr_, tag);
  }
  Slice room(size_t number, int tag = kTag) {
    return slice(to_->part(number * size_, size_), *to_mr_, tag);
  }
  testing::AssertionResult arrived(size_t number) {
    return has_pattern(to_->part(number * size_, size_), number);
  }

  // Posts receives of one message each for numbers [first, last) and waits for all that is in
  // flight.
  void receive_the_rest(size_t first, size_t last, std::vector<Pending>& receives,
                        std::vector<Pending>& sends) {
    for (size_t number = first; number < last;) {
      Pending next = try_irecv(net(), pair_.recv, {room(number)});
      ASSERT_FALSE(next.failed());
      if (next.posted()) receives.push_back(next), ++number;
      step(net(), sends);
      step(net(), receives);
    }
    ASSERT_TRUE(finish(net(), receives));
    ASSERT_TRUE(finish(net(), sends));
  }

  // Nothing more comes: an extra receive stays open, until the next message, which is the right
  // one.
  void expect_nothing_queued(size_t number) {
    Pending extra = post_recv(net(), pair_.recv, {room(number)});
    ASSERT_TRUE(extra.posted());
    poll_for(milliseconds(50), [&] { step(net(), extra); });
    ASSERT_FALSE(extra.ended()) << "a message that isend refused was sent all the same";
    Pending send = post_send(net(), pair_.send, message(number), {&extra});
    ASSERT_TRUE(finish(net(), {&extra, &send}));
    EXPECT_TRUE(arrived(number));
  }

  size_t size_ = 0;
  Pair pair_;
  std::optional<Buffer> from_;
  std::optional<Buffer> to_;
  std::optional<Mr> from_mr_;
  std::optional<Mr> to_mr_;
};

// Case 68, request_exhaustion_send: 32 groups of maxRecvs receives, and a send for each part, none
// of them tested.
TEST_P(Depth, TakesThirtyTwoGroupsOfSends) {
  const auto n = static_cast<size_t>(max_group(net()));
  const size_t wanted = kGroups * n;
  const size_t most = 3 * wanted;
  open(most + 1);
  std::vector<Pending> receives;
  for (size_t group = 0; group < kGroups; ++group) {
    std::vector<Slice> slots;
    for (size_t i = 0; i < n; ++i) slots.push_back(room(group * n + i, static_cast<int>(i)));
    receives.push_back(post_recv(net(), pair_.recv, slots));
    ASSERT_TRUE(receives.back().posted()) << "group " << group;
  }
  std::vector<Pending> sends;
  for (size_t number = 0; number < wanted; ++number) {
    Pending send;
    ASSERT_TRUE(poll_until([&] {
      step(net(), receives);
      send = try_isend(net(), pair_.send, message(number, static_cast<int>(number % n)));
      return send.posted() || send.failed();
    })) << "only "
        << number << " sends were taken, of " << wanted;
    ASSERT_TRUE(send.posted());
    sends.push_back(send);
  }
  // And on until it says NULL (there is no receive for these yet) or takes far more than it must.
  poll_for(milliseconds(50), [&] {
    step(net(), receives);
    if (sends.size() == most) return;
    Pending send = try_isend(net(), pair_.send, message(sends.size()));
    ASSERT_FALSE(send.failed()) << "exhaustion is NULL, not an error";
    if (send.posted()) sends.push_back(send);
  });
  const size_t taken = sends.size();
  receive_the_rest(wanted, taken, receives, sends);
  for (size_t number = 0; number < taken; ++number) ASSERT_TRUE(arrived(number)) << number;
  expect_nothing_queued(taken);
}

// Case 69, request_exhaustion_recv.
TEST_P(Depth, TakesThirtyTwoReceives) {
  constexpr size_t kMost = 512;
  open(kMost + 1);
  std::vector<Pending> receives;
  const auto post_next = [&] {
    if (receives.size() == kMost) return;
    Pending recv = try_irecv(net(), pair_.recv, {room(receives.size())});
    ASSERT_FALSE(recv.failed()) << "exhaustion is NULL, not an error";
    if (recv.posted()) receives.push_back(recv);
    step(net(), receives.front());
  };
  poll_until([&] {
    post_next();
    return receives.size() >= kGroups || HasFatalFailure();
  });
  poll_for(milliseconds(100), post_next);
  const size_t taken = receives.size();
  ASSERT_GE(taken, kGroups);
  std::vector<Pending> sends;
  for (size_t number = 0; number < taken; ++number) {
    ASSERT_TRUE(poll_until([&] {
      step(net(), receives);
      step(net(), sends);
      Pending send = try_isend(net(), pair_.send, message(number));
      if (send.posted()) sends.push_back(send);
      return send.posted() || send.failed();
    })) << "send "
        << number << " of " << taken;
  }
  ASSERT_TRUE(finish(net(), receives));
  ASSERT_TRUE(finish(net(), sends));
  for (size_t number = 0; number < taken; ++number) ASSERT_TRUE(arrived(number)) << number;
  expect_nothing_queued(taken);
}

// Case 70, send_before_recv_posted: NULL, a request that waits, or a copy are all legal; losing a
// message, or buffering without bound, is not.
TEST_P(Depth, BuffersLittleAndLosesNothingBeforeReceivesArePosted) {
  constexpr size_t kBound = size_t{64} << 20;
  const size_t most = std::min<size_t>(200'000, kBound / GetParam() + 1);
  open(most + 1);
  std::vector<Pending> sends;
  size_t done = 0;
  poll_for(milliseconds(300), [&] {
    while (done < sends.size() && (step(net(), sends[done]), sends[done].done)) ++done;
    if (sends.size() == most) return;
    Pending send = try_isend(net(), pair_.send, message(sends.size()));
    ASSERT_FALSE(send.failed());
    if (send.posted()) sends.push_back(send);
  });
  ASSERT_LT(sends.size(), most) << "took " << most * size_ << " bytes without any receive posted";
  const size_t taken = sends.size();
  std::deque<Pending> window;
  size_t next = 0;
  for (size_t received = 0; received < taken;) {
    if (next < taken && window.size() < 8) {
      window.push_back(post_recv(net(), pair_.recv, {room(next++)}));
      ASSERT_TRUE(window.back().posted());
    }
    ASSERT_TRUE(poll_until([&] {  // both sides are driven, as two processes would drive them
      while (done < taken && (step(net(), sends[done]), sends[done].done)) ++done;
      step(net(), window.front());
      return window.front().ended();
    })) << received
        << " of " << taken;
    ASSERT_TRUE(window.front().done) << received << " of " << taken;
    ASSERT_TRUE(arrived(received)) << received << " of " << taken;
    window.pop_front();
    ++received;
  }
  ASSERT_TRUE(finish(net(), sends));
  expect_nothing_queued(taken);
}

INSTANTIATE_TEST_SUITE_P(Size, Depth, testing::Values(size_t{64}, size_t{4096}, size_t{65536}),
                         [](const auto& row) { return std::to_string(row.param); });

}  // namespace
}  // namespace fabrail::conformance
