// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The sender's view of posted receives: order, tags, groups, and announcements in any order.
#include "src/transport/cts_window.h"

#include <gtest/gtest.h>

#include <vector>

namespace fabrail::transport {
namespace {

ClearToSend cts(std::uint32_t sequence, std::int32_t tag, int size = 1, int index = 0,
                std::uint32_t length = 100) {
  return {.group_size = static_cast<std::uint8_t>(size),
          .group_index = static_cast<std::uint8_t>(index),
          .comm = 0,
          .sequence = sequence,
          .tag = tag,
          .region = 1,
          .length = length,
          .offset = sequence * 1000ull};
}

void announce_group(CtsWindow& window, std::uint32_t first, const std::vector<std::int32_t>& tags) {
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const auto index = static_cast<int>(i);
    ASSERT_EQ(window.insert(cts(first + static_cast<std::uint32_t>(i), tags[i],
                                static_cast<int>(tags.size()), index)),
              CtsWindow::Insert::kTaken);
  }
}

TEST(CtsWindow, WaitsForTheHeadWhateverElseIsKnown) {
  CtsWindow window;
  window.insert(cts(1, 7));
  EXPECT_EQ(window.match(7), nullptr);
  window.insert(cts(0, 7));
  ASSERT_NE(window.match(7), nullptr);
  EXPECT_EQ(window.match(7)->offset, 0u);
}

TEST(CtsWindow, GivesTheSameTagTwiceInPostingOrder) {
  CtsWindow window;
  announce_group(window, 0, {5, 9, 5});
  const auto* first = window.match(5);
  EXPECT_EQ(first->group_index, 0);
  window.consume(*first);
  EXPECT_EQ(window.match(5)->group_index, 2);
}

TEST(CtsWindow, DoesNotLookBeyondTheHeadGroup) {
  CtsWindow window;
  announce_group(window, 0, {1, 2});
  announce_group(window, 2, {3});
  EXPECT_EQ(window.match(3), nullptr);
  window.consume(*window.match(2));
  window.consume(*window.match(1));
  EXPECT_NE(window.match(3), nullptr);
}

TEST(CtsWindow, RefusesWhatCannotBe) {
  CtsWindow window;
  EXPECT_EQ(window.insert(cts(kWindow + kMaxEager, 1)), CtsWindow::Insert::kInvalid);
  EXPECT_EQ(window.insert(cts(~0u, 1)), CtsWindow::Insert::kInvalid);
  EXPECT_EQ(window.insert(cts(0, 1)), CtsWindow::Insert::kTaken);
  EXPECT_EQ(window.insert(cts(0, 1)), CtsWindow::Insert::kInvalid) << "announced twice";
}

TEST(CtsWindow, LetsEagerMessagesGoOnlyWhileTheHeadIsUnknownAndFewAreUnderWay) {
  CtsWindow window;
  for (std::uint32_t i = 0; i < kMaxEager; ++i) {
    ASSERT_TRUE(window.may_send_eager());
    window.note_eager(1, 8);
  }
  EXPECT_FALSE(window.may_send_eager());
  window.insert(cts(0, 1));
  EXPECT_TRUE(window.may_send_eager()) << "the first found its receive";
  window.insert(cts(1, 99));
  EXPECT_FALSE(window.may_send_eager()) << "the head is known, and not for these messages";
  EXPECT_NE(window.match(99), nullptr);
}

TEST(CtsWindow, GivesEagerMessagesTheirReceivesBeforeLaterOnes) {
  CtsWindow window;
  window.note_eager(5, 8);
  announce_group(window, 0, {5, 5});
  ASSERT_NE(window.match(5), nullptr);
  EXPECT_EQ(window.match(5)->group_index, 1);
}

TEST(CtsWindow, TellsOfAnEagerMessageThatIsLongerThanItsReceive) {
  CtsWindow window;
  window.note_eager(5, 101);
  window.insert(cts(0, 5));
  ASSERT_TRUE(window.oversize());
  EXPECT_EQ(window.oversize()->message_bytes, 101u);
  EXPECT_EQ(window.oversize()->receive_bytes, 100u);
}

TEST(CtsWindow, GoesOnWhenSequenceNumbersWrap) {
  CtsWindow window;
  // 2^32 / 8 groups are too many to walk; the arithmetic is the same from any start that wraps a
  // slot index.
  std::uint32_t sequence = 0;
  for (std::uint32_t group = 0; group < 5000; ++group) {
    announce_group(window, sequence, {1, 2, 3});
    for (const std::int32_t tag : {3, 1, 2}) {
      const auto* receive = window.match(tag);
      ASSERT_NE(receive, nullptr) << group;
      EXPECT_EQ(window.slot_of(*receive), (sequence + receive->group_index) % kWindow);
      window.consume(*receive);
    }
    sequence += 3;
  }
}

}  // namespace
}  // namespace fabrail::transport
