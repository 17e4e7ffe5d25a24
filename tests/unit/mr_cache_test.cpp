// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The registration cache, on real endpoints of the tcp provider over loopback.
#include "src/transport/mr_cache.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace fabrail::transport {
namespace {

class MrCacheOnTcp : public testing::Test {
 protected:
  void SetUp() override {
    auto library = fabric::open_library("");
    if (!library.ok()) GTEST_SKIP() << library.error().detail;
    library_ = library.take();
    auto found = fabric::discover(
        library_, {.provider = "tcp", .fi_provider = {}, .nics = "lo", .device_rdma = {}});
    ASSERT_TRUE(found.ok() && !found.value().nics.empty());
    discovery_ = found.take();
    for (int i = 0; i < 2; ++i) {
      auto rail = Rail::open(library_, discovery_.nics.front(), counters_);
      ASSERT_TRUE(rail.ok()) << rail.error().detail;
      rails_.push_back(rail.take());
    }
    cache_ = std::make_unique<MrCache>(rails_, kPage);
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  void TearDown() override {
    if (memory_ != nullptr) munmap(memory_, kPages * kPage);
  }

  RegisteredRange* acquire(std::size_t offset, std::size_t bytes) {
    auto range = cache_->acquire(memory_ + offset, bytes);
    EXPECT_TRUE(range.ok());
    return range.value();
  }

  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kPages = 64;
  fabrail_counters_t counters_{};
  fabric::Library library_;
  fabric::Discovery discovery_;
  std::vector<std::unique_ptr<Rail>> rails_;
  std::unique_ptr<MrCache> cache_;
  std::byte* memory_ = nullptr;
};

TEST_F(MrCacheOnTcp, SharesDuplicatesAndNestedRanges) {
  RegisteredRange* whole = acquire(100, 10 * kPage);
  EXPECT_EQ(acquire(100, 10 * kPage), whole);
  EXPECT_EQ(acquire(2 * kPage + 5, 7), whole);
  EXPECT_EQ(cache_->size(), 1u);
  EXPECT_NE(acquire(10 * kPage, 5 * kPage), whole) << "only overlapping";
}

TEST_F(MrCacheOnTcp, KeepsARangeUntilItsLastUserGoes) {
  RegisteredRange* range = acquire(0, kPage);
  for (int i = 0; i < 99; ++i) acquire(0, kPage);
  for (int i = 0; i < 99; ++i) cache_->release(*range);
  EXPECT_EQ(cache_->size(), 1u);
  cache_->release(*range);
  EXPECT_EQ(cache_->size(), 0u);
}

TEST_F(MrCacheOnTcp, NeverGivesAKeyTwice) {
  RegisteredRange* first = acquire(0, kPage);
  const std::uint64_t key = first->key(0);
  cache_->release(*first);
  RegisteredRange* second = acquire(0, kPage);
  EXPECT_NE(second->key(0), key) << "a peer's old key must not open the memory that came after";
  cache_->release(*second);
}

TEST_F(MrCacheOnTcp, FindsACoverBehindNestedRanges) {
  RegisteredRange* small = acquire(4 * kPage, kPage);
  RegisteredRange* large = acquire(0, 16 * kPage);
  ASSERT_NE(small, large);
  EXPECT_EQ(acquire(4 * kPage, 3 * kPage), large);
}

}  // namespace
}  // namespace fabrail::transport
