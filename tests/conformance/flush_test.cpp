// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group F: iflush on host memory, and the slots that must be NULL.
#include <array>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

class FlushEveryAbi : public EveryAbiTest {
 protected:
  void SetUp() override {
    pair_ = connect_loopback(net());
    ASSERT_TRUE(pair_);
  }

  // One call of iflush after a receive of `size` bytes into `memory`.
  Pending flush(Buffer& memory, const Mr& mr, int size, int n = 1) {
    std::array<void*, kMaxGroup> data;
    std::array<void*, kMaxGroup> mhandles;
    std::array<int, kMaxGroup> sizes;
    data.fill(memory.data());
    mhandles.fill(mr.get());
    sizes.fill(size);
    Pending p;
    p.result =
        net().iflush(pair_.recv.get(), n, data.data(), sizes.data(), mhandles.data(), &p.request);
    return p;
  }

  Pair pair_;
};

// Case 90, iflush_host. NULL means "nothing to flush"; a request must come to its end.
TEST_P(FlushEveryAbi, OfHostMemorySucceeds) {
  ASSERT_TRUE(works(net(), pair_));
  Buffer memory(4096);
  Mr mr(net(), pair_.recv.get(), memory.bytes());
  for (int i = 0; i < 100; ++i) {
    Pending p = flush(memory, mr, 4096);
    ASSERT_EQ(p.result, NCCL_NET_SUCCESS);
    if (p.posted()) {
      EXPECT_TRUE(finish(net(), {&p}));
    }
  }
  EXPECT_TRUE(works(net(), pair_));
}

// A NULL request would mean "it is visible": the plugin cannot say "not now", whatever its queues
// hold.
TEST_P(FlushEveryAbi, IsNeverRefusedForLackOfRoom) {
  Buffer from(4096);
  Buffer memory(4096);
  Mr from_mr(net(), pair_.send.get(), from.bytes());
  Mr mr(net(), pair_.recv.get(), memory.bytes());
  fill_pattern(from.bytes(), 90);
  ASSERT_TRUE(transfer(net(), pair_, slice(from.bytes(), from_mr), slice(memory.bytes(), mr)));
  std::vector<Pending> flushes;
  for (int i = 0; i < 3000; ++i) {
    Pending p = flush(memory, mr, 4096);
    ASSERT_EQ(p.result, NCCL_NET_SUCCESS) << i;
    if (p.posted()) flushes.push_back(p);
  }
  EXPECT_TRUE(finish(net(), flushes)) << flushes.size() << " requests";
  EXPECT_TRUE(has_pattern(memory.bytes(), 90));
  EXPECT_TRUE(works(net(), pair_));
}

// Case 91, iflush_all_zero_sizes.
TEST_P(FlushEveryAbi, OfNothingNeedsNoRequest) {
  Buffer memory(4096);
  Mr mr(net(), pair_.recv.get(), memory.bytes());
  Pending p = flush(memory, mr, 0);
  EXPECT_EQ(p.result, NCCL_NET_SUCCESS);
  EXPECT_FALSE(p.posted());
  EXPECT_TRUE(works(net(), pair_));
}

// Case 92.
TEST_P(FlushEveryAbi, OfMoreThanAGroupIsRefused) {
  const int n = max_group(net()) + 1;
  if (n > kMaxGroup) GTEST_SKIP() << "groups have no limit here";
  Buffer memory(4096);
  Mr mr(net(), pair_.recv.get(), memory.bytes());
  EXPECT_NE(flush(memory, mr, 4096, n).result, NCCL_NET_SUCCESS);
}

// Case 95: NCCL calls irecvConsumed for every receive if the slot is there.
TEST_P(FlushEveryAbi, LeavesTheDeviceSlotsNull) {
  EXPECT_FALSE(net().has_get_device_mr());
  EXPECT_FALSE(net().has_irecv_consumed());
}

INSTANTIATE_FOR_EVERY_ABI(FlushEveryAbi);

}  // namespace
}  // namespace fabrail::conformance
