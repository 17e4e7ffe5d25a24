// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Figures made of measurements, and what the plugin's log says about the network.
#include "src/cli/perf/row.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/cli/perf/plugin_log.h"

namespace fabrail::cli::perf {
namespace {

Plan plan_of(TestKind test, uint64_t bytes, uint64_t iterations) {
  Plan plan;
  plan.test = test;
  plan.bytes = bytes;
  plan.iterations = iterations;
  plan.checked = 1;
  return plan;
}

Measurement measurement_of(uint64_t elapsed_ns) {
  Measurement measurement;
  measurement.elapsed_ns = elapsed_ns;
  measurement.messages = 10;
  return measurement;
}

TEST(Percentile, TakesTheNearestRank) {
  std::vector<uint64_t> samples;
  for (uint64_t i = 100; i >= 1; --i) samples.push_back(i * 1000);
  EXPECT_EQ(percentile_us(samples, 50), 50);
  EXPECT_EQ(percentile_us(samples, 99), 99);
  EXPECT_EQ(percentile_us({7000}, 99), 7);
  EXPECT_EQ(percentile_us({}, 50), 0);
}

TEST(Row, GivesBandwidthInDecimalGigabytes) {
  const Row row =
      make_row(plan_of(TestKind::kBandwidth, 1000000, 1000), 2, measurement_of(1000000000));
  EXPECT_DOUBLE_EQ(*row.gbytes_per_s, 1.0);
  EXPECT_DOUBLE_EQ(*row.msgs_per_s, 1000.0);
  EXPECT_FALSE(row.p50_us);
  EXPECT_FALSE(row.busbw_gbytes_per_s);
}

TEST(Row, CountsBusBandwidthAsNcclTestsDo) {
  const Measurement second = measurement_of(1000000000);
  EXPECT_DOUBLE_EQ(
      *make_row(plan_of(TestKind::kAllReduce, 1000000000, 1), 4, second).busbw_gbytes_per_s, 1.5);
  EXPECT_DOUBLE_EQ(
      *make_row(plan_of(TestKind::kAllToAll, 1000000000, 1), 4, second).busbw_gbytes_per_s, 0.75);
}

TEST(Row, LeavesOutTheCostOfAPluginWithoutCounters) {
  EXPECT_FALSE(make_row(plan_of(TestKind::kRate, 8, 1), 2, measurement_of(1)).posts_per_msg);
}

TEST(Row, SpreadsTheCostOfAllRanksOverAllMessages) {
  Measurement ranks[2] = {measurement_of(5), measurement_of(9)};
  ranks[0].cost = {.posts = 10, .completions = 30, .control_bytes = 0, .known = true};
  ranks[1].cost = {.posts = 10, .completions = 10, .control_bytes = 640, .known = true};
  const Measurement all = combine(ranks);
  EXPECT_EQ(all.elapsed_ns, 9u);
  const Row row = make_row(plan_of(TestKind::kLatency, 8, 10), 2, all);
  EXPECT_DOUBLE_EQ(*row.posts_per_msg, 1);
  EXPECT_DOUBLE_EQ(*row.completions_per_msg, 2);
  EXPECT_DOUBLE_EQ(*row.control_bytes_per_msg, 32);
}

TEST(Row, ComparesTheFigureThatTheTestIsAbout) {
  Row plugin, raw;
  plugin.plan.test = raw.plan.test = TestKind::kLatency;
  plugin.p50_us = 12;
  raw.p50_us = 10;
  EXPECT_DOUBLE_EQ(*ratio(plugin, raw), 1.2);
  raw.p50_us.reset();
  EXPECT_FALSE(ratio(plugin, raw));
}

TEST(Row, WritesUnknownIdentityAsNull) {
  const Row row = make_row(plan_of(TestKind::kRate, 8, 1), 2, measurement_of(1));
  const auto object = to_json(row, {.ranks = 2, .abi = 8, .provider = {}, .rails = {}}, false);
  EXPECT_TRUE(object["provider"].is_null());
  EXPECT_TRUE(object["rails"].is_null());
  EXPECT_EQ(object["abi"], 8);
  EXPECT_FALSE(object.contains("p50_us"));
  EXPECT_FALSE(object.contains("raw"));
}

TEST(NetworkFacts, ComeFromTheLinesThatUsersGrepFor) {
  const struct {
    const char* line;
    const char* provider;
    int rails;
  } rows[] = {
      {"NET/x : Selected provider is tcp;ofi_rxm (found 3 nics)", "tcp;ofi_rxm", 0},
      {"Selected provider is efa, fabric is efa-direct (found 4 nics)", "efa", 0},
      {"device 0 (rdma0): 4 rails on PCI switch 0", "", 4},
      {"1 rail", "", 1},
      {"the rails are many", "", 0},
      {"rail", "", 0},
      {"", "", 0},
  };
  for (const auto& row : rows) {
    NetworkFacts facts;
    learn_from(row.line, facts);
    EXPECT_EQ(facts.provider.value_or(""), row.provider) << row.line;
    EXPECT_EQ(facts.rails.value_or(0), row.rails) << row.line;
  }
}

TEST(NetworkFacts, BelieveTheDeviceMoreThanThePlan) {
  NetworkFacts facts;
  learn_from("NET/fabrail: 1 device of 1 rail", facts);
  learn_from("NET/fabrail: device 0: lo, 4 rails (lo lo lo lo), 10000 Mbit/s", facts);
  learn_from("NET/fabrail: the peer has 2 rails, this device 4", facts);
  EXPECT_EQ(facts.rails, 4);
}

TEST(NetworkFacts, KeepTheFirst) {
  NetworkFacts facts;
  learn_from("Selected provider is efa (found 2 nics)", facts);
  learn_from("Selected provider is tcp (found 1 nics)", facts);
  EXPECT_EQ(facts.provider, "efa");
}

}  // namespace
}  // namespace fabrail::cli::perf
