// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fabrail::transport {
namespace {

struct Tried {
  std::uint64_t times = 0;
  std::uint64_t longest_pause = 0;  // behind being tried at each poll
};

Tried refuse_until(std::uint64_t end) {
  constexpr std::uint64_t kStart = 1000;
  Backoff backoff;
  backoff.start(kStart);
  Tried tried;
  for (std::uint64_t now = kStart; now < kStart + end; ++now) {
    if (now < backoff.due()) continue;
    ++tried.times;
    backoff.refused(now);
    tried.longest_pause = std::max(tried.longest_pause, backoff.due() - now - 1);
  }
  return tried;
}

TEST(Backoff, TriesAtEachPollAtFirst) { EXPECT_EQ(refuse_until(16).times, 16U); }

TEST(Backoff, DelaysByNoMoreThanASixteenthOfTheWait) {
  for (const std::uint64_t end : {100ULL, 1000ULL, 1'000'000ULL}) {
    EXPECT_LE(refuse_until(end).longest_pause, end / 16) << end;
  }
}

TEST(Backoff, CostsLittleInTheLongRun) { EXPECT_LT(refuse_until(1'000'000).times, 300U); }

TEST(Backoff, BeginsAnewAfterEachStart) {
  Backoff backoff;
  backoff.start(0);
  backoff.refused(100'000);
  backoff.start(200'000);
  EXPECT_EQ(backoff.due(), 200'000U);
  backoff.refused(200'000);
  EXPECT_EQ(backoff.due(), 200'001U);
}

}  // namespace
}  // namespace fabrail::transport
