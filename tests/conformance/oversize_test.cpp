// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// 3.4: a message larger than its receive. With regIsGlobal it is cut, and both sides are told the
// size; otherwise both sides get an error, and nothing is written beyond the receive.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

struct OversizeCase {
  size_t sent;
  size_t room;
  bool posted_first;
};

class OversizeTest : public PrimaryTest {
 protected:
  bool truncates() {
    Properties p;
    EXPECT_EQ(net().get_properties(0, &p), NCCL_NET_SUCCESS);
    return p.reg_is_global != 0;
  }

  // Whatever each side has in flight and may still try, until both were told.
  bool both_refused(const Pair& pair, Pending& send, Pending& recv, const Slice& from,
                    const Slice& to) {
    std::vector<Pending> sends = {send};
    std::vector<Pending> receives = {recv};
    const auto refused = [](const std::vector<Pending>& all) {
      return std::any_of(all.begin(), all.end(), [](const Pending& p) { return p.failed(); });
    };
    return poll_until([&] {
      step(net(), sends);
      step(net(), receives);
      if (!refused(sends)) push(sends, try_isend(net(), pair.send, {from.data, 1, from.mhandle}));
      if (!refused(receives)) push(receives, try_irecv(net(), pair.recv, {to}));
      recv = receives.front();
      send = sends.front();
      return refused(sends) && refused(receives);
    });
  }

 private:
  static void push(std::vector<Pending>& all, const Pending& next) {
    all.erase(std::remove_if(all.begin() + 1, all.end(), [](const auto& p) { return p.done; }),
              all.end());
    if (next.posted() || next.failed()) all.push_back(next);
  }
};

class Oversize : public OversizeTest, public testing::WithParamInterface<OversizeCase> {};

TEST_P(Oversize, IsRefusedOnBothSides) {
  const OversizeCase row = GetParam();
  if (truncates()) GTEST_SKIP() << "regIsGlobal: messages are cut instead";
  Pair bystander = connect_loopback(net());
  Pair pair = connect_loopback(net());
  ASSERT_TRUE(pair && bystander);
  Buffer from(row.sent);
  Buffer to(row.room);
  Mr from_mr(net(), pair.send.get(), from.bytes());
  Mr to_mr(net(), pair.recv.get(), {to.data(), std::max<size_t>(row.room, 1)});
  Pending recv;
  Pending send;
  if (row.posted_first) recv = post_recv(net(), pair.recv, {slice(to.bytes(), to_mr)});
  poll_for(std::chrono::milliseconds(20), [&] {
    if (!send.posted() && !send.failed()) {
      send = try_isend(net(), pair.send, slice(from.bytes(), from_mr));
    }
    step(net(), send);
    step(net(), recv);
  });
  if (!row.posted_first) recv = post_recv(net(), pair.recv, {slice(to.bytes(), to_mr)}, {&send});
  if (!send.posted() && !send.failed()) {
    send = post_send(net(), pair.send, slice(from.bytes(), from_mr), {&recv});
  }
  EXPECT_TRUE(
      both_refused(pair, send, recv, slice(from.bytes(), from_mr), slice(to.bytes(), to_mr)))
      << "one side was not told";
  EXPECT_FALSE(recv.done) << "the receive of the oversize message counts as good";
  EXPECT_TRUE(to.intact()) << "written beyond the receive";
  EXPECT_TRUE(works(net(), bystander));
  EXPECT_EQ(from_mr.deregister(), NCCL_NET_SUCCESS);
  EXPECT_EQ(to_mr.deregister(), NCCL_NET_SUCCESS);
  EXPECT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
  EXPECT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
  EXPECT_TRUE(works(net(), bystander));
}

TEST_P(Oversize, IsCutWithExactSizesWhenRegistrationsAreGlobal) {
  const OversizeCase row = GetParam();
  if (!truncates()) GTEST_SKIP() << "regIsGlobal is 0: messages are refused instead";
  Pair pair = connect_loopback(net());
  ASSERT_TRUE(pair);
  Buffer from(row.sent);
  Buffer to(row.room);
  fill_pattern(from.bytes(), 9);
  Mr from_mr(net(), pair.send.get(), from.bytes());
  Mr to_mr(net(), pair.recv.get(), {to.data(), std::max<size_t>(row.room, 1)});
  Pending recv = post_recv(net(), pair.recv, {slice(to.bytes(), to_mr)});
  Pending send = post_send(net(), pair.send, slice(from.bytes(), from_mr), {&recv});
  ASSERT_TRUE(finish(net(), {&send, &recv}));
  EXPECT_EQ(send.sizes[0], static_cast<int>(row.room));
  EXPECT_EQ(recv.sizes[0], static_cast<int>(row.room));
  EXPECT_TRUE(has_pattern(to.bytes(), 9));
  EXPECT_TRUE(to.intact());
}

constexpr std::array kRows = {
    OversizeCase{64, 63, true},      OversizeCase{64, 0, true},
    OversizeCase{64, 16, false},     OversizeCase{8192, 4096, true},
    OversizeCase{8192, 64, false},   OversizeCase{1 << 20, (1 << 20) - 1, true},
    OversizeCase{1 << 20, 64, true}, OversizeCase{1 << 20, 65536, false},
};

INSTANTIATE_TEST_SUITE_P(Size, Oversize, testing::ValuesIn(kRows), [](const auto& row) {
  return std::to_string(row.param.sent) + "Into" + std::to_string(row.param.room) +
         (row.param.posted_first ? "Posted" : "Unexpected");
});

// A group with one part too large: the comm is refused, its memory is safe, others go on.
TEST_F(OversizeTest, InsideAGroupIsRefused) {
  if (truncates() || max_group(net()) < 2) GTEST_SKIP() << "no groups, or messages are cut";
  Pair bystander = connect_loopback(net());
  Pair pair = connect_loopback(net());
  ASSERT_TRUE(pair && bystander);
  Buffer from(8192);
  Buffer small(64);
  Buffer large(8192);
  Mr from_mr(net(), pair.send.get(), from.bytes());
  Mr small_mr(net(), pair.recv.get(), small.bytes());
  Mr large_mr(net(), pair.recv.get(), large.bytes());
  Pending recv = post_recv(net(), pair.recv,
                           {slice(small.bytes(), small_mr, 1), slice(large.bytes(), large_mr, 2)});
  Pending send = post_send(net(), pair.send, slice(from.bytes(), from_mr, 1), {&recv});
  EXPECT_TRUE(
      both_refused(pair, send, recv, slice(from.bytes(), from_mr), slice(large.bytes(), large_mr)));
  EXPECT_FALSE(recv.done);
  EXPECT_TRUE(small.intact());
  EXPECT_TRUE(works(net(), bystander));
}

}  // namespace
}  // namespace fabrail::conformance
