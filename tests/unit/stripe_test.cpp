// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Stripes: they cover the message exactly, start on LL128 lines, and use the rails evenly.
#include "src/transport/stripe.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace fabrail::transport {
namespace {

constexpr std::uint32_t kMinStripe = 131072;

TEST(Striping, CoversEveryByteOnceOnDistinctRails) {
  std::mt19937 engine(1);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 20000; ++round) {
    const std::uint32_t rails = 1 + random() % 32;
    const std::uint32_t bytes = 1 + random() % (random() % 2 == 0 ? 5000u : 1u << 30);
    const Striping striping(bytes, rails, 1u << (random() % 25), random() % rails, random());
    std::uint32_t covered = 0;
    std::uint32_t used = 0;
    for (std::uint32_t i = 0; i < striping.stripes(); ++i) {
      ASSERT_EQ(striping.offset(i), covered);
      ASSERT_EQ(striping.offset(i) % kStripeAlignment, 0u);
      ASSERT_GT(striping.length(i), 0u);
      ASSERT_EQ(used & (1u << striping.rail(i)), 0u);
      ASSERT_LT(striping.rail(i), rails);
      used |= 1u << striping.rail(i);
      covered += striping.length(i);
    }
    ASSERT_EQ(covered, bytes) << bytes << " bytes over " << rails << " rails";
  }
}

TEST(Striping, KeepsSmallMessagesOnTheHomeRail) {
  for (std::uint32_t turn = 0; turn < 8; ++turn) {
    for (const std::uint32_t min_stripe : {kStripeAlignment, kMinStripe}) {
      const Striping striping(kHomeBytes, 4, min_stripe, 2, turn);
      EXPECT_EQ(striping.stripes(), 1u);
      EXPECT_EQ(striping.rail(0), 2u);
    }
  }
}

TEST(Striping, RotatesMessagesThatHaveFewerStripesThanRails) {
  std::vector<int> used(4);
  std::uint32_t turn = 0;
  for (int message = 0; message < 8; ++message) {
    const Striping striping(64 * 1024, 4, kMinStripe, 1, turn);
    ++used[striping.rail(0)];
    turn += striping.stripes();
  }
  EXPECT_EQ(used, (std::vector<int>{2, 2, 2, 2}));
}

TEST(Striping, SplitsAMebibyteOverFourRailsEvenly) {
  const Striping striping(1 << 20, 4, kMinStripe, 0, 0);
  ASSERT_EQ(striping.stripes(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(striping.length(i), 262144u);
}

}  // namespace
}  // namespace fabrail::transport
