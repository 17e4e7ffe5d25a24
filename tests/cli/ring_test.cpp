// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The schedule of the ring all-reduce.
#include "src/cli/perf/ring.h"

#include <gtest/gtest.h>

#include <vector>

namespace fabrail::cli::perf {
namespace {

struct Shape {
  int ranks;
  size_t elements;
  size_t slice;
};

constexpr Shape kShapes[] = {{2, 8, 4},    {3, 10, 2}, {4, 3, 2},
                             {5, 1000, 7}, {2, 0, 4},  {7, 64, 64}};

TEST(RingLayout, ReceiversExpectWhatSendersSend) {
  for (const Shape& shape : kShapes) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const int next = (rank + 1) % shape.ranks;
      const RingLayout sender(rank, shape.ranks, shape.elements, shape.slice);
      const RingLayout receiver(next, shape.ranks, shape.elements, shape.slice);
      ASSERT_EQ(sender.transfers(), receiver.transfers());
      for (uint64_t i = 0; i < sender.transfers(); ++i) {
        EXPECT_EQ(sender.sent(i).begin, receiver.received(i).begin);
        EXPECT_EQ(sender.sent(i).count, receiver.received(i).count);
        EXPECT_LE(sender.sent(i).count, shape.slice);
      }
    }
  }
}

/// Runs the schedule one message at a time in plain memory, and gives each rank's result.
std::vector<std::vector<int>> simulate(const Shape& shape) {
  const auto ranks = static_cast<size_t>(shape.ranks);
  std::vector<std::vector<int>> input(ranks), output(ranks);
  std::vector<RingLayout> layouts;
  for (size_t rank = 0; rank < ranks; ++rank) {
    layouts.emplace_back(static_cast<int>(rank), shape.ranks, shape.elements, shape.slice);
    output[rank].assign(shape.elements, -1);
    for (size_t i = 0; i < shape.elements; ++i) {
      input[rank].push_back(static_cast<int>((rank + 1) * 1000 + i));
    }
  }
  for (uint64_t transfer = 0; transfer < layouts[0].transfers(); ++transfer) {
    std::vector<std::vector<int>> wire;
    for (size_t rank = 0; rank < ranks; ++rank) {
      const Extent extent = layouts[rank].sent(transfer);
      const auto& source = layouts[rank].step_of(transfer) == 0 ? input[rank] : output[rank];
      const auto begin = source.begin() + static_cast<std::ptrdiff_t>(extent.begin);
      wire.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(extent.count));
    }
    for (size_t rank = 0; rank < ranks; ++rank) {
      const Extent extent = layouts[rank].received(transfer);
      const std::vector<int>& message = wire[(rank + ranks - 1) % ranks];
      for (size_t i = 0; i < extent.count; ++i) {
        const size_t at = extent.begin + i;
        output[rank][at] = message[i] + (layouts[rank].reduces(transfer) ? input[rank][at] : 0);
      }
    }
  }
  return output;
}

TEST(RingLayout, GivesEveryRankTheSumOfAll) {
  for (const Shape& shape : kShapes) {
    const int rank_sum = shape.ranks * (shape.ranks + 1) / 2 * 1000;
    for (const std::vector<int>& result : simulate(shape)) {
      for (size_t i = 0; i < result.size(); ++i) {
        ASSERT_EQ(result[i], rank_sum + shape.ranks * static_cast<int>(i)) << shape.ranks;
      }
    }
  }
}

TEST(RingLayout, SendsOnOnlyWhatHasArrived) {
  const RingLayout layout(0, 4, 64, 4);
  for (uint64_t i = 0; i < layout.transfers(); ++i) {
    const uint64_t needed = layout.receives_before_send(i);
    if (layout.step_of(i) == 0) {
      EXPECT_EQ(needed, 0u);
    } else {
      EXPECT_EQ(layout.received(needed - 1).begin, layout.sent(i).begin);
      EXPECT_EQ(layout.step_of(needed - 1), layout.step_of(i) - 1);
    }
  }
}

TEST(RingLayout, OverwritesAPartialSumOnlyAfterItWasSent) {
  const RingLayout layout(1, 4, 64, 4);
  for (uint64_t i = 0; i < layout.transfers(); ++i) {
    for (uint64_t sent = layout.slices(); sent < i; ++sent) {
      // What the first step sends comes from the input, later ones from the memory received into.
      const bool same_memory = !layout.reduces(i) && layout.reduces(sent) &&
                               layout.sent(sent).begin == layout.received(i).begin;
      if (same_memory) {
        EXPECT_GT(layout.sends_before_receive(i), sent);
      }
    }
  }
}

}  // namespace
}  // namespace fabrail::cli::perf
