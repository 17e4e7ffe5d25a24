// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reading sizes, choosing tests and planning rows.
#include "src/cli/perf/options.h"

#include <gtest/gtest.h>

#include "src/cli/common/failure.h"
#include "src/cli/perf/plan.h"

namespace fabrail::cli::perf {
namespace {

TEST(ParseSize, ReadsNumbersWithBinarySuffixes) {
  const struct {
    const char* text;
    uint64_t bytes;
  } rows[] = {{"0", 0},
              {"8", 8},
              {"64K", 65536},
              {"64k", 65536},
              {"1M", 1u << 20},
              {"2G", uint64_t{2} << 30},
              {"17179869183G", uint64_t{17179869183} << 30}};
  for (const auto& row : rows) EXPECT_EQ(parse_size(row.text), row.bytes) << row.text;
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "K", "-1", "1.5M", "3X", "1KB", "8 ", " 8", "0x10",
                           "18446744073709551616", "17179869184G"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(FormatSize, IsTheInverseOfParsing) {
  for (const uint64_t bytes : {0ul, 1ul, 1023ul, 1024ul, 1536ul, 1ul << 20, 3ul << 30}) {
    EXPECT_EQ(parse_size(format_size(bytes)), bytes);
  }
  EXPECT_EQ(format_size(65536), "64K");
}

TEST(Validate, RefusesARangeThatRunsBackwards) {
  Options options;
  options.begin = 16;
  options.end = 8;
  EXPECT_THROW(validate(options), Failure);
}

TEST(Validate, RefusesZeroThatWouldNeverGrow) {
  Options options;
  options.begin = 0;
  options.end = 8;
  EXPECT_THROW(validate(options), Failure);
  options.end = 0;
  EXPECT_NO_THROW(validate(options));
}

TEST(Validate, RefusesCorruptionThatNobodyChecks) {
  Options options;
  options.corrupt = true;
  options.check = 0;
  EXPECT_THROW(validate(options), Failure);
}

TEST(Validate, RefusesWhatGpuMemoryCannotDo) {
  Options options;
  options.gpu_memory = true;
  EXPECT_NO_THROW(validate(options));
  options.test = "allreduce";
  EXPECT_THROW(validate(options), Failure);
  options.test = "rate";
  options.raw = true;
  EXPECT_THROW(validate(options), Failure);
}

TEST(TestsOf, LeavesOutOfAllWhatWorksOnItsDataWithTheCpu) {
  Options options;
  options.gpu_memory = true;
  EXPECT_EQ(tests_of(options),
            (std::vector{TestKind::kLatency, TestKind::kBandwidth, TestKind::kRate}));
}

TEST(TestsOf, NamesOneOrAll) {
  Options options;
  EXPECT_EQ(tests_of(options).size(), 5u);
  options.test = "allreduce";
  EXPECT_EQ(tests_of(options), std::vector<TestKind>{TestKind::kAllReduce});
}

std::vector<uint64_t> sizes_of(TestKind test, const Options& options) {
  std::vector<uint64_t> sizes;
  for (const Plan& plan : plans_of(test, options)) sizes.push_back(plan.bytes);
  return sizes;
}

TEST(Plans, MultiplySizesUpToTheEnd) {
  Options options;
  options.begin = 8;
  options.end = 100;
  options.factor = 3;
  EXPECT_EQ(sizes_of(TestKind::kLatency, options), (std::vector<uint64_t>{8, 24, 72}));
}

TEST(Plans, EndAtTheLargestNumberWithoutOverflow) {
  Options options;
  options.begin = uint64_t{1} << 63;
  options.end = ~uint64_t{0};
  EXPECT_EQ(sizes_of(TestKind::kAllReduce, options), std::vector<uint64_t>{uint64_t{1} << 63});
}

TEST(Plans, KeepEightBytesForTheRateAmongOtherTests) {
  Options options;
  options.begin = options.end = 4096;
  EXPECT_EQ(sizes_of(TestKind::kRate, options), std::vector<uint64_t>{8});
  options.test = "rate";
  EXPECT_EQ(sizes_of(TestKind::kRate, options), std::vector<uint64_t>{4096});
}

TEST(Plans, LimitTheDepthOfHugeMessages) {
  Options options;
  options.begin = options.end = uint64_t{512} << 20;
  EXPECT_EQ(plans_of(TestKind::kBandwidth, options).front().depth, 2u);
}

TEST(Plans, CheckNothingWhenAskedNotTo) {
  Options options;
  options.check = 0;
  EXPECT_EQ(plans_of(TestKind::kLatency, options).front().checked, 0u);
}

TEST(Plans, TakeTheCountsOfTheUser) {
  Options options;
  options.iterations = 7;
  options.warmup = 0;
  const Plan plan = plans_of(TestKind::kBandwidth, options).front();
  EXPECT_EQ(plan.iterations, 7u);
  EXPECT_EQ(plan.warmup, 0u);
  EXPECT_EQ(plan.checked, 7u);
}

}  // namespace
}  // namespace fabrail::cli::perf
