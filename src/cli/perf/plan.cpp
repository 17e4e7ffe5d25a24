// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which sizes a test goes through, and how often.
#include "src/cli/perf/plan.h"

#include <algorithm>

namespace fabrail::cli::perf {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;
// Each outstanding message has memory of its own, so that every byte can be compared.
constexpr uint64_t kBufferLimit = kGiB;

struct Range {
  uint64_t begin;
  uint64_t end;
};

Range default_range(TestKind test) {
  switch (test) {
    case TestKind::kLatency:
    case TestKind::kRate:
      return {8, 8};
    case TestKind::kBandwidth:
      return {64 * kKiB, 4 * kMiB};
    case TestKind::kAllReduce:
    case TestKind::kAllToAll:
      return {kKiB, 16 * kMiB};
  }
  return {8, 8};
}

Range range_of(TestKind test, const Options& options) {
  // Among other tests, `rate` keeps its own size: a rate of large messages is a bandwidth.
  if (test == TestKind::kRate && options.test == "all") return default_range(test);
  if (options.begin) return {*options.begin, options.end.value_or(*options.begin)};
  Range range = default_range(test);
  if (options.end) range = {std::min(range.begin, *options.end), *options.end};
  return range;
}

/// Enough to be steady, few enough to be quick.
uint64_t default_iterations(TestKind test, uint64_t bytes) {
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  switch (test) {
    case TestKind::kLatency:
      return std::clamp<uint64_t>(64 * kMiB / size, 20, 2000);
    case TestKind::kBandwidth:
      return std::clamp<uint64_t>(kGiB / size, 20, 10000);
    case TestKind::kRate:
      return 100000;
    case TestKind::kAllReduce:
    case TestKind::kAllToAll:
      return std::clamp<uint64_t>(128 * kMiB / size, 5, 200);
  }
  return 20;
}

uint64_t checked_iterations(uint64_t bytes, uint64_t iterations, unsigned depth) {
  const uint64_t affordable = 128 * kMiB / std::max<uint64_t>(bytes, 1);
  return std::min(iterations, std::max<uint64_t>(affordable, 2 * depth));
}

Plan plan_of(TestKind test, uint64_t bytes, const Options& options) {
  Plan plan{.test = test, .bytes = bytes, .depth = static_cast<unsigned>(options.depth)};
  if (test != TestKind::kAllReduce && test != TestKind::kAllToAll && bytes > 0) {
    plan.depth = static_cast<unsigned>(std::clamp<uint64_t>(kBufferLimit / bytes, 1, plan.depth));
  }
  plan.iterations = options.iterations.value_or(default_iterations(test, bytes));
  plan.warmup = options.warmup.value_or(std::clamp<uint64_t>(plan.iterations / 10, 2, 1000));
  if (options.check != 0) {
    const unsigned depth =
        test == TestKind::kAllReduce || test == TestKind::kAllToAll ? 1 : plan.depth;
    plan.checked = checked_iterations(bytes, plan.iterations, depth);
  }
  return plan;
}

}  // namespace

size_t largest_bytes(const std::vector<Plan>& plans) {
  return std::max_element(plans.begin(), plans.end(),
                          [](const Plan& a, const Plan& b) { return a.bytes < b.bytes; })
      ->bytes;
}

std::vector<Plan> plans_of(TestKind test, const Options& options) {
  const Range range = range_of(test, options);
  std::vector<Plan> plans;
  for (uint64_t bytes = range.begin; bytes <= range.end; bytes *= options.factor) {
    plans.push_back(plan_of(test, bytes, options));
    if (bytes == 0 || bytes > range.end / options.factor) break;
  }
  return plans;
}

}  // namespace fabrail::cli::perf
