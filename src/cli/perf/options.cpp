// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reading and checking what the user asked of `fabrail perf`.
#include "src/cli/perf/options.h"

#include <charconv>
#include <limits>

#include "src/cli/common/failure.h"

namespace fabrail::cli::perf {
namespace {

std::optional<int> shift_of(std::string_view suffix) {
  if (suffix.empty()) return 0;
  if (suffix.size() != 1) return std::nullopt;
  switch (suffix[0]) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<uint64_t> parse_size(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{}) return std::nullopt;
  const auto shift = shift_of(text.substr(static_cast<size_t>(rest - text.data())));
  if (!shift || value > (std::numeric_limits<uint64_t>::max() >> *shift)) return std::nullopt;
  return value << *shift;
}

std::string format_size(uint64_t bytes) {
  constexpr std::string_view kSuffixes = "GMK";
  for (size_t i = 0; i < kSuffixes.size(); ++i) {
    const int shift = 30 - 10 * static_cast<int>(i);
    if (bytes >> shift != 0 && (bytes >> shift) << shift == bytes) {
      return std::to_string(bytes >> shift) + kSuffixes[i];
    }
  }
  return std::to_string(bytes);
}

std::string_view name_of(TestKind test) {
  switch (test) {
    case TestKind::kLatency:
      return "latency";
    case TestKind::kBandwidth:
      return "bandwidth";
    case TestKind::kRate:
      return "rate";
    case TestKind::kAllReduce:
      return "allreduce";
    case TestKind::kAllToAll:
      return "alltoall";
  }
  return "";
}

namespace {

bool adds_on_cpu(TestKind test) {
  return test == TestKind::kAllReduce || test == TestKind::kAllToAll;
}

}  // namespace

std::vector<TestKind> tests_of(const Options& options) {
  std::vector<TestKind> tests;
  for (const TestKind test : {TestKind::kLatency, TestKind::kBandwidth, TestKind::kRate,
                              TestKind::kAllReduce, TestKind::kAllToAll}) {
    const bool in_all = options.test == "all" && (!options.gpu_memory || !adds_on_cpu(test));
    if (in_all || options.test == name_of(test)) tests.push_back(test);
  }
  return tests;
}

void validate(const Options& options) {
  const uint64_t begin = options.begin.value_or(0);
  if (options.end && begin > *options.end) {
    throw Failure("-b " + format_size(begin) + " is larger than -e " + format_size(*options.end));
  }
  if (options.begin && begin == 0 && options.end.value_or(0) != 0) {
    throw Failure("-b 0 cannot be multiplied up to -e: use -e 0 too, or begin at 1");
  }
  if (options.gpu_memory && (options.test == "allreduce" || options.test == "alltoall")) {
    throw Failure("--memory device is for latency, bandwidth and rate: " + options.test +
                  " works on its data with the CPU");
  }
  if (options.gpu_memory && options.raw) {
    throw Failure("--raw compares with bare libfabric on host memory: leave out --memory device");
  }
  if (options.corrupt && options.check == 0) {
    throw Failure("--corrupt needs -c 1: without a check nobody would notice");
  }
}

}  // namespace fabrail::cli::perf
