// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which sizes a test goes through, and how often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/cli/perf/options.h"

namespace fabrail::cli::perf {

/// One row of a test.
struct Plan {
  TestKind test = TestKind::kLatency;
  uint64_t bytes = 0;
  unsigned depth = 1;       ///< outstanding messages of this size
  uint64_t warmup = 0;      ///< iterations before the clock starts
  uint64_t iterations = 0;  ///< timed iterations
  uint64_t checked = 0;     ///< iterations after the clock has stopped, every byte compared
};

/// The rows of `test`. Sizes and counts that the user did not give depend on the test and the size.
std::vector<Plan> plans_of(TestKind test, const Options& options);

/// The bytes of the largest of them; there must be one.
size_t largest_bytes(const std::vector<Plan>& plans);

/// NCCL's Simple protocol moves steps of this size, and so do the collectives here.
constexpr size_t kSliceBytes = size_t{512} << 10;

}  // namespace fabrail::cli::perf
