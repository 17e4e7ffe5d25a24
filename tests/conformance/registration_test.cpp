// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group D: registrations, in all the shapes that NCCL makes them.
#include <sys/mman.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

/// A connected pair and what the tests send through it.
class RegistrationEveryAbi : public EveryAbiTest {
 protected:
  void SetUp() override {
    pair_ = connect_loopback(net());
    ASSERT_TRUE(pair_);
  }
  Pair pair_;
};

class Registration : public PrimaryTest {
 protected:
  void SetUp() override {
    pair_ = connect_loopback(net());
    ASSERT_TRUE(pair_);
  }

  // Sends [from, from+size) of one buffer to the same place of another.
  testing::AssertionResult move(Bytes from, const Mr& from_mr, Bytes to, const Mr& to_mr,
                                uint64_t seed) {
    fill_pattern(from, seed);
    auto moved = transfer(net(), pair_, slice(from, from_mr), slice(to, to_mr));
    return moved ? has_pattern(to, seed) : moved;
  }

  Pair pair_;
};

// Case 48, reg_host_basic.
TEST_P(RegistrationEveryAbi, TakesAnySizeAndAlignment) {
  for (const size_t size : {1u, 2u, 7u, 64u, 4095u, 4096u, 4097u, 1u << 20, 4'915'200u}) {
    for (const size_t misalign : {0u, 1u, 63u}) {
      Buffer from(size, misalign);
      Buffer to(size, misalign);
      Mr from_mr(net(), pair_.send.get(), from.bytes());
      Mr to_mr(net(), pair_.recv.get(), to.bytes());
      fill_pattern(from.bytes(), size);
      ASSERT_TRUE(transfer(net(), pair_, slice(from.bytes(), from_mr), slice(to.bytes(), to_mr)));
      EXPECT_TRUE(has_pattern(to.bytes(), size));
      EXPECT_TRUE(to.intact());
      EXPECT_EQ(from_mr.deregister(), NCCL_NET_SUCCESS);
      EXPECT_EQ(to_mr.deregister(), NCCL_NET_SUCCESS);
    }
  }
}

// Case 53, reg_type_bad.
TEST_P(RegistrationEveryAbi, RefusesMemoryTypesThatItDoesNotKnow) {
  Properties p;
  ASSERT_EQ(net().get_properties(0, &p), NCCL_NET_SUCCESS);
  std::vector<int> bad = {0, NCCL_NET_PTR_DMABUF, 99};
  if ((p.ptr_support & NCCL_NET_PTR_CUDA) == 0) bad.push_back(NCCL_NET_PTR_CUDA);
  Buffer memory(4096);
  for (const int type : bad) {
    for (void* const comm : {pair_.send.get(), pair_.recv.get()}) {
      void* mhandle = nullptr;
      EXPECT_NE(net().reg_mr(comm, memory.data(), memory.size(), type, &mhandle), NCCL_NET_SUCCESS)
          << "type " << type;
      EXPECT_EQ(mhandle, nullptr) << "type " << type;
    }
  }
  EXPECT_TRUE(works(net(), pair_));
}

// Case 59, reg_dmabuf_fd, without a GPU: a descriptor that is none.
TEST_P(RegistrationEveryAbi, RefusesADmabufThatIsNone) {
  if (!net().has_dmabuf()) GTEST_SKIP() << "regMrDmaBuf is NULL, which is legal";
  Buffer memory(4096);
  void* mhandle = nullptr;
  EXPECT_NE(net().reg_mr_dmabuf(pair_.recv.get(), memory.data(), memory.size(), NCCL_NET_PTR_CUDA,
                                0, -1, &mhandle),
            NCCL_NET_SUCCESS);
  EXPECT_EQ(mhandle, nullptr);
  EXPECT_TRUE(works(net(), pair_));
}

// Case 57, close_with_live_mr.
TEST_P(RegistrationEveryAbi, IsFreedWithItsComm) {
  Buffer memory(1 << 16);
  for (int i = 0; i < 3; ++i) {
    Mr(net(), pair_.send.get(), memory.bytes()).leak();
    Mr(net(), pair_.recv.get(), memory.bytes()).leak();
  }
  EXPECT_EQ(pair_.send.close(), NCCL_NET_SUCCESS);
  EXPECT_EQ(pair_.recv.close(), NCCL_NET_SUCCESS);
  Pair next = connect_loopback(net());
  ASSERT_TRUE(next);
  EXPECT_TRUE(works(net(), next));
}

INSTANTIATE_FOR_EVERY_ABI(RegistrationEveryAbi);

// Case 48: 64-bit sizes. Sparse, so that it costs no memory.
TEST_F(Registration, ReachesBeyondFourGigabytes) {
  if (net().abi() < 8) GTEST_SKIP() << "sizes are int before v8";
  constexpr size_t kSize = size_t{5} << 30;
  Pages from(kSize);
  Pages to(kSize);
  Mr from_mr(net(), pair_.send.get(), from.bytes());
  Mr to_mr(net(), pair_.recv.get(), to.bytes());
  for (const size_t offset :
       {size_t{0}, (size_t{1} << 31) - 8, (size_t{1} << 32) - 8, kSize - 4096}) {
    EXPECT_TRUE(move(from.bytes().subspan(offset, 4096), from_mr, to.bytes().subspan(offset, 4096),
                     to_mr, offset));
  }
}

// Case 49, reg_twice_same: every connector that shares a pool registers the whole pool.
TEST_F(Registration, OfTheSameBufferAHundredTimes) {
  Pair other = connect_loopback(net());
  ASSERT_TRUE(other);
  Buffer from(1 << 16);
  Buffer to(1 << 16);
  Mr from_mr(net(), pair_.send.get(), from.bytes());
  std::vector<Mr> same_comm;
  std::vector<Mr> other_comm;
  for (int i = 0; i < 100; ++i) {
    same_comm.emplace_back(net(), pair_.recv.get(), to.bytes());
    other_comm.emplace_back(net(), other.recv.get(), to.bytes());
  }
  EXPECT_TRUE(move(from.bytes(), from_mr, to.bytes(), same_comm[50], 49));
  for (size_t i = 0; i < 99; ++i) {
    EXPECT_EQ(same_comm[i].deregister(), NCCL_NET_SUCCESS);
    EXPECT_EQ(other_comm[i].deregister(), NCCL_NET_SUCCESS);
  }
  EXPECT_TRUE(move(from.bytes(), from_mr, to.bytes(), same_comm[99], 50));
  EXPECT_EQ(same_comm[99].deregister(), NCCL_NET_SUCCESS);
  Mr again(net(), pair_.recv.get(), to.bytes());
  EXPECT_TRUE(move(from.bytes(), from_mr, to.bytes(), again, 51));
  EXPECT_TRUE(other_comm[99].deregister() == NCCL_NET_SUCCESS);
}

// Case 50, reg_overlap: LL, LL128 and SIMPLE are slices of one allocation.
TEST_F(Registration, OfNestedAndOverlappingRanges) {
  Buffer from(1 << 20);
  Buffer to(1 << 20);
  const std::vector<std::pair<size_t, size_t>> ranges = {
      {0, 1 << 20}, {0, 1 << 19}, {1 << 19, 1 << 19}, {4096, 8192},
      {8000, 9000}, {8191, 2},    {1 << 18, 614400},  {1, (1 << 20) - 2}};
  std::vector<Mr> froms;
  std::vector<Mr> tos;
  for (const auto& [offset, size] : ranges) {
    froms.emplace_back(net(), pair_.send.get(), from.part(offset, size));
    tos.emplace_back(net(), pair_.recv.get(), to.part(offset, size));
  }
  // The widest goes first: what lies inside must not lose its pages with it.
  for (size_t gone = 0; gone <= ranges.size(); ++gone) {
    for (size_t i = gone; i < ranges.size(); ++i) {
      const auto& [offset, size] = ranges[i];
      EXPECT_TRUE(move(from.part(offset, size), froms[i], to.part(offset, size), tos[i], i + gone))
          << "range " << i << " after " << gone << " were deregistered";
    }
    if (gone == ranges.size()) break;
    EXPECT_EQ(froms[gone].deregister(), NCCL_NET_SUCCESS);
    EXPECT_EQ(tos[gone].deregister(), NCCL_NET_SUCCESS);
  }
  EXPECT_TRUE(to.intact());
}

// Case 51, mr_subrange.
TEST_F(Registration, ServesAnyRangeInsideIt) {
  constexpr size_t kSize = 1 << 20;
  Buffer from(kSize);
  Buffer to(kSize);
  Mr from_mr(net(), pair_.send.get(), from.bytes());
  Mr to_mr(net(), pair_.recv.get(), to.bytes());
  std::mt19937 random(51);
  for (int i = 0; i < sized(60, 2000); ++i) {
    const size_t size = 1 + random() % (1u << (random() % 20));
    const bool at_end = i % 4 == 0;
    const size_t from_offset = at_end ? kSize - size : random() % (kSize - size + 1);
    const size_t to_offset = at_end ? kSize - size : random() % (kSize - size + 1);
    to.clear();
    ASSERT_TRUE(move(from.part(from_offset, size), from_mr, to.part(to_offset, size), to_mr,
                     static_cast<uint64_t>(i)));
    ASSERT_TRUE(holds_only(to.part(0, to_offset), kUntouched));
    ASSERT_TRUE(holds_only(to.part(to_offset + size, kSize - to_offset - size), kUntouched));
  }
  EXPECT_TRUE(to.intact());
}

// Memory that was freed and mapped again at the same address is other memory.
TEST_F(Registration, FollowsMemoryThatWasMappedAgain) {
  Pages from(1 << 16);
  Pages to(1 << 16);
  for (uint64_t round = 0; round < 8; ++round) {
    Mr from_mr(net(), pair_.send.get(), from.bytes());
    Mr to_mr(net(), pair_.recv.get(), to.bytes());
    ASSERT_TRUE(move(from.bytes(), from_mr, to.bytes(), to_mr, round));
    EXPECT_EQ(from_mr.deregister(), NCCL_NET_SUCCESS);
    EXPECT_EQ(to_mr.deregister(), NCCL_NET_SUCCESS);
    from.replace();
    to.replace();
  }
}

// The same, with the old registration still there when the new one is made.
TEST_F(Registration, IsNotFoundAgainForOtherMemory) {
  Pages from(1 << 16);
  Pages to(1 << 16);
  Mr old_from(net(), pair_.send.get(), from.bytes());
  Mr old_to(net(), pair_.recv.get(), to.bytes());
  ASSERT_TRUE(move(from.bytes(), old_from, to.bytes(), old_to, 1));
  from.replace();
  to.replace();
  Mr new_from(net(), pair_.send.get(), from.bytes());
  Mr new_to(net(), pair_.recv.get(), to.bytes());
  EXPECT_TRUE(move(from.bytes(), new_from, to.bytes(), new_to, 2));
  EXPECT_EQ(old_from.deregister(), NCCL_NET_SUCCESS);
  EXPECT_EQ(old_to.deregister(), NCCL_NET_SUCCESS);
  EXPECT_TRUE(move(from.bytes(), new_from, to.bytes(), new_to, 3));
}

// Registers and deregisters on `comm` until told to stop: NCCL's service thread.
void register_forever(const Net& net, void* comm, const std::atomic<bool>& stop) {
  Buffer memory(1 << 18);
  std::mt19937 random(54);
  do {
    std::vector<Mr> some;
    for (int i = 0; i < 8; ++i) {
      const size_t size = 1 + random() % memory.size();
      some.emplace_back(net, comm, memory.part(random() % (memory.size() - size + 1), size));
    }
  } while (!stop);
}

// Case 54, reg_concurrent_datapath.
TEST_F(Registration, RunsBesideTheDataPathOfTheSameComm) {
  std::atomic<bool> stop{false};
  std::thread sender([&] { register_forever(net(), pair_.send.get(), stop); });
  std::thread receiver([&] { register_forever(net(), pair_.recv.get(), stop); });
  for (int i = 0; i < sized(30, 1000); ++i) {
    EXPECT_TRUE(works(net(), pair_, i % 2 == 0 ? 512 : 200'000, 3));
  }
  stop = true;
  sender.join();
  receiver.join();
}

}  // namespace
}  // namespace fabrail::conformance
