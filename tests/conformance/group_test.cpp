// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group E, cases 72 to 78: grouped receives. Tags choose the slot inside the oldest unfilled group
// and nothing else.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

using std::chrono::milliseconds;

constexpr size_t kPart = 1 << 17;  // beyond what plugins copy eagerly, unless a test says less

class GroupEveryAbi : public EveryAbiTest {
 protected:
  void SetUp() override {
    pair_ = connect_loopback(net());
    ASSERT_TRUE(pair_);
    const int most = max_group(net());
    if (most < 2) GTEST_SKIP() << "maxRecvs is 1, which is legal";
    n_ = static_cast<size_t>(std::min(most, 8));
    from_mr_.emplace(net(), pair_.send.get(), from_.bytes());
    to_mr_.emplace(net(), pair_.recv.get(), to_.bytes());
  }
  void TearDown() override {
    from_mr_.reset();
    to_mr_.reset();
  }

  Slice receive_slot(size_t slot, int tag, size_t size = kPart) {
    return slice(to_.part(slot * kPart, size), *to_mr_, tag);
  }
  // Message `id` has its own memory and pattern.
  Slice message(size_t id, int tag, size_t size = kPart) {
    const Bytes part = from_.part(id % 32 * kPart, size);
    fill_pattern(part, id);
    return slice(part, *from_mr_, tag);
  }
  testing::AssertionResult slot_holds(size_t slot, size_t id, size_t size = kPart) {
    return has_pattern(to_.part(slot * kPart, size), id);
  }
  Pending post_group(const std::vector<int>& tags, size_t first_slot = 0, size_t size = kPart) {
    std::vector<Slice> slots;
    for (size_t i = 0; i < tags.size(); ++i) {
      slots.push_back(receive_slot(first_slot + i, tags[i], size));
    }
    Pending group = post_recv(net(), pair_.recv, slots);
    EXPECT_TRUE(group.posted());
    return group;
  }
  std::vector<int> distinct_tags() {
    std::vector<int> tags(n_);
    std::iota(tags.begin(), tags.end(), 100);
    return tags;
  }

  Pair pair_;
  size_t n_ = 0;
  Buffer from_{32 * kPart};
  Buffer to_{32 * kPart};
  std::optional<Mr> from_mr_;
  std::optional<Mr> to_mr_;
};

// Case 72, group_8_shuffled_tags: sizes in slot order, whatever the order of the sends.
TEST_P(GroupEveryAbi, FillsSlotsByTag) {
  std::mt19937 random(72);
  for (int round = 0; round < 12; ++round) {
    const bool small = round % 2 == 0;
    const std::vector<int> tags = distinct_tags();
    to_.clear();
    Pending group = post_group(tags);
    std::vector<size_t> order(n_);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Pending> sends;
    for (const size_t slot : order) {
      const size_t size = small ? 10 + slot : kPart - slot;
      sends.push_back(post_send(net(), pair_.send, message(slot, tags[slot], size), {&group}));
      ASSERT_TRUE(sends.back().posted()) << "tag " << tags[slot] << " is in the head group";
    }
    ASSERT_TRUE(finish(net(), {&group}));
    ASSERT_TRUE(finish(net(), sends));
    for (size_t slot = 0; slot < n_; ++slot) {
      const size_t size = small ? 10 + slot : kPart - slot;
      EXPECT_EQ(group.sizes[slot], static_cast<int>(size)) << "slot " << slot;
      EXPECT_TRUE(slot_holds(slot, slot, size)) << "slot " << slot;
      EXPECT_TRUE(holds_only(to_.part(slot * kPart + size, kPart - size), kUntouched));
    }
  }
}

// A group may hold a tag twice: two sends to one peer in one batch. Filled in posting order.
TEST_P(GroupEveryAbi, FillsEqualTagsInPostingOrder) {
  for (const size_t size : {size_t{100}, kPart}) {
    std::vector<int> tags(n_, 5);
    tags[n_ / 2] = 6;
    to_.clear();
    Pending group = post_group(tags);
    std::vector<Pending> sends;
    sends.push_back(post_send(net(), pair_.send, message(90, 6, size), {&group}));
    for (size_t i = 0; i + 1 < n_; ++i) {
      sends.push_back(post_send(net(), pair_.send, message(i, 5, size - i), {&group}));
      ASSERT_TRUE(sends.back().posted());
    }
    ASSERT_TRUE(finish(net(), {&group}));
    ASSERT_TRUE(finish(net(), sends));
    for (size_t slot = 0, next = 0; slot < n_; ++slot) {
      const size_t id = tags[slot] == 6 ? 90 : next++;
      const size_t expected = id == 90 ? size : size - id;
      EXPECT_EQ(group.sizes[slot], static_cast<int>(expected)) << "slot " << slot;
      EXPECT_TRUE(slot_holds(slot, id, expected)) << "slot " << slot;
    }
  }
}

// Case 73, group_partial.
TEST_P(GroupEveryAbi, IsDoneOnlyWhenAllPartsAre) {
  for (const size_t size : {size_t{64}, kPart}) {
    const std::vector<int> tags = distinct_tags();
    Pending group = post_group(tags);
    std::vector<Pending> sends;
    for (size_t slot = 0; slot + 1 < n_; ++slot) {
      sends.push_back(post_send(net(), pair_.send, message(slot, tags[slot], size), {&group}));
      ASSERT_TRUE(sends.back().posted());
    }
    poll_for(milliseconds(50), [&] {
      step(net(), sends);
      step(net(), group);
      ASSERT_FALSE(group.ended()) << "done with a part missing";
    });
    sends.push_back(post_send(net(), pair_.send, message(n_ - 1, tags[n_ - 1], size), {&group}));
    ASSERT_TRUE(finish(net(), {&group}));
    ASSERT_TRUE(finish(net(), sends));
    for (size_t slot = 0; slot < n_; ++slot) EXPECT_TRUE(slot_holds(slot, slot, size));
  }
}

// Case 77, group_wrong_tag. A large message of the head group was taken, so the sender knows the
// group: from then on a foreign tag must wait.
TEST_P(GroupEveryAbi, MakesForeignTagsWait) {
  Pending group = post_group({1, 2});
  Pending first = post_send(net(), pair_.send, message(1, 1), {&group});
  ASSERT_TRUE(first.posted());
  for (const size_t size : {kPart, size_t{16}}) {
    poll_for(milliseconds(30), [&] {
      const Pending foreign = try_isend(net(), pair_.send, message(3, 3, size));
      ASSERT_FALSE(foreign.failed());
      ASSERT_FALSE(foreign.posted()) << "tag 3 is not in the head group {1, 2}";
      step(net(), first);
      step(net(), group);
      ASSERT_FALSE(group.ended());
    });
  }
  Pending second = post_send(net(), pair_.send, message(2, 2), {&group, &first});
  ASSERT_TRUE(finish(net(), {&group, &first, &second}));
  EXPECT_TRUE(slot_holds(0, 1));
  EXPECT_TRUE(slot_holds(1, 2));
  Pending later = post_group({4, 3}, 2);
  Pending third = post_send(net(), pair_.send, message(3, 3), {&later});
  Pending fourth = post_send(net(), pair_.send, message(4, 4), {&later, &third});
  ASSERT_TRUE(finish(net(), {&later, &third, &fourth}));
  EXPECT_TRUE(slot_holds(2, 4));
  EXPECT_TRUE(slot_holds(3, 3));
}

// A message that went out before anything was posted, and whose tag belongs to the second group.
// Taken early or not: it must end up there.
TEST_P(GroupEveryAbi, KeepsAnEarlyMessageForItsOwnGroup) {
  for (const size_t size : {size_t{32}, kPart}) {
    Pending early;
    poll_for(milliseconds(20), [&] {
      if (!early.posted()) early = try_isend(net(), pair_.send, message(3, 3, size));
      step(net(), early);
    });
    Pending head = post_group({1, 2}, 0, size);
    Pending next = post_group({3, 4}, 2, size);
    Pending first = post_send(net(), pair_.send, message(1, 1, size), {&head, &next, &early});
    Pending second = post_send(net(), pair_.send, message(2, 2, size), {&head, &next, &early});
    ASSERT_TRUE(first.posted() && second.posted()) << "tags 1 and 2 are in the head group";
    ASSERT_TRUE(finish(net(), {&head, &first, &second}));
    if (!early.posted()) {
      early = post_send(net(), pair_.send, message(3, 3, size), {&next});
    }
    Pending fourth = post_send(net(), pair_.send, message(4, 4, size), {&next, &early});
    ASSERT_TRUE(finish(net(), {&next, &early, &fourth}));
    for (size_t slot = 0; slot < 4; ++slot) {
      EXPECT_TRUE(slot_holds(slot, slot + 1, size)) << "slot " << slot << ", size " << size;
    }
  }
}

// Case 78, group_too_large. Each try has its own pair: a misused comm may stay in error.
TEST_P(GroupEveryAbi, RefusesImpossibleCounts) {
  for (const int n : {0, -1, max_group(net()) + 1}) {
    if (n > kMaxGroup) continue;
    Pair pair = connect_loopback(net());
    ASSERT_TRUE(pair);
    Mr mr(net(), pair.recv.get(), to_.bytes());
    std::vector<void*> data(kMaxGroup, to_.data());
    std::vector<size_t> sizes(kMaxGroup, 16);
    std::vector<int> tags(kMaxGroup, 1);
    std::vector<void*> mhandles(kMaxGroup, mr.get());
    void* request = nullptr;
    EXPECT_NE(net().irecv(pair.recv.get(),
                          {n, data.data(), sizes.data(), tags.data(), mhandles.data()}, &request),
              NCCL_NET_SUCCESS)
        << n;
    EXPECT_EQ(request, nullptr) << n;
  }
}

// Groups of every size in a row, zero-byte parts among them.
TEST_P(GroupEveryAbi, AlternatesGroupSizes) {
  std::mt19937 random(74);
  for (int round = 0; round < sized(40, 2000); ++round) {
    const size_t n = 1 + random() % n_;
    std::vector<int> tags = distinct_tags();
    tags.resize(n);
    Pending group = post_group(tags);
    std::vector<size_t> sizes(n);
    for (size_t& size : sizes) size = random() % 3 == 0 ? 0 : random() % kPart;
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Pending> sends;
    for (const size_t slot : order) {
      sends.push_back(
          post_send(net(), pair_.send, message(slot, tags[slot], sizes[slot]), {&group}));
      ASSERT_TRUE(sends.back().posted());
    }
    ASSERT_TRUE(finish(net(), {&group}));
    ASSERT_TRUE(finish(net(), sends));
    for (size_t slot = 0; slot < n; ++slot) {
      ASSERT_EQ(group.sizes[slot], static_cast<int>(sizes[slot])) << "slot " << slot;
      ASSERT_TRUE(slot_holds(slot, slot, sizes[slot])) << "round " << round << ", slot " << slot;
    }
  }
}

INSTANTIATE_FOR_EVERY_ABI(GroupEveryAbi);

}  // namespace
}  // namespace fabrail::conformance
