// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The bytes of checked messages: every damage is seen and counted.
#include "src/cli/perf/pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace fabrail::cli::perf {
namespace {

constexpr MessageId kId{.from = 1, .to = 2, .bytes = 77, .iteration = 3};

TEST(Pattern, AcceptsWhatItHasWritten) {
  for (const size_t bytes : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 77u, 4096u}) {
    std::vector<std::byte> message(bytes);
    fill(message, kId);
    EXPECT_EQ(count_wrong(message, kId), 0u) << bytes;
  }
}

TEST(Pattern, SeesEachSingleByte) {
  std::vector<std::byte> message(77);
  fill(message, kId);
  for (std::byte& byte : message) {
    byte ^= std::byte{0x80};
    EXPECT_EQ(count_wrong(message, kId), 1u);
    byte ^= std::byte{0x80};
  }
}

TEST(Pattern, TellsMessagesApart) {
  std::vector<std::byte> message(64);
  fill(message, kId);
  for (const MessageId& other : {MessageId{2, 2, 77, 3}, MessageId{1, 1, 77, 3},
                                 MessageId{1, 2, 78, 3}, MessageId{1, 2, 77, 4}}) {
    EXPECT_GT(count_wrong(message, other), 32u);
  }
}

TEST(Pattern, SeesAPieceAtTheWrongPlace) {
  std::vector<std::byte> message(4096);
  fill(message, kId);
  const std::span<const std::byte> all(message);
  EXPECT_EQ(count_wrong(all.subspan(1024, 512), kId, 1024), 0u);
  EXPECT_GT(count_wrong(all.subspan(1024, 512), kId, 2048), 256u);
}

TEST(Contribution, SumsExactlyOverManyRanks) {
  constexpr int kRanks = 1000;
  constexpr size_t kElements = 300;
  std::vector<float> sums(kElements, 0.0f);
  for (int rank = 0; rank < kRanks; ++rank) {
    std::vector<float> mine(kElements);
    fill_contribution(mine, rank, 5);
    for (size_t i = 0; i < kElements; ++i) sums[i] += mine[i];
  }
  EXPECT_EQ(count_wrong_sums(sums, kRanks, 5), 0u);
  EXPECT_GT(count_wrong_sums(sums, kRanks, 6), kElements / 2);
  EXPECT_EQ(count_wrong_sums(sums, kRanks - 1, 5), kElements);
}

TEST(Contribution, CountsEachWrongElementOnce) {
  std::vector<float> sums(8);
  fill_contribution(sums, 0, 0);
  sums[3] += 1;
  sums[4] = -sums[4];
  EXPECT_EQ(count_wrong_sums(sums, 1, 0), 2u);
}

}  // namespace
}  // namespace fabrail::cli::perf
