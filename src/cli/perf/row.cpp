// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Figures made of what the ranks saw.
#include "src/cli/perf/row.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace fabrail::cli::perf {
namespace {

/// What nccl-tests multiplies with, so that the figure is comparable with the link's speed.
double bus_factor(TestKind test, int ranks) {
  const double n = ranks;
  return test == TestKind::kAllReduce ? 2 * (n - 1) / n : (n - 1) / n;
}

bool is_collective(TestKind test) {
  return test == TestKind::kAllReduce || test == TestKind::kAllToAll;
}

void add_cost(Row& row, const Measurement& measurement) {
  if (!measurement.cost.known || measurement.messages == 0) return;
  const auto messages = static_cast<double>(measurement.messages);
  row.posts_per_msg = static_cast<double>(measurement.cost.posts) / messages;
  row.completions_per_msg = static_cast<double>(measurement.cost.completions) / messages;
  row.control_bytes_per_msg = static_cast<double>(measurement.cost.control_bytes) / messages;
  row.copied_bytes_per_msg = static_cast<double>(measurement.cost.copied_bytes) / messages;
}

std::optional<double> main_figure(const Row& row) {
  switch (row.plan.test) {
    case TestKind::kLatency:
      return row.p50_us;
    case TestKind::kBandwidth:
      return row.gbytes_per_s;
    case TestKind::kRate:
      return row.msgs_per_s;
    case TestKind::kAllReduce:
    case TestKind::kAllToAll:
      return row.busbw_gbytes_per_s;
  }
  return std::nullopt;
}

template <class T>
void put(nlohmann::ordered_json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

template <class T>
void put_or_null(nlohmann::ordered_json& object, const char* name, const std::optional<T>& value) {
  object[name] = nullptr;
  put(object, name, value);
}

}  // namespace

Measurement combine(std::span<const Measurement> ranks) {
  Measurement all;
  for (const Measurement& one : ranks) {
    all.elapsed_ns = std::max(all.elapsed_ns, one.elapsed_ns);
    all.p50_us = std::max(all.p50_us, one.p50_us);
    all.p99_us = std::max(all.p99_us, one.p99_us);
    all.messages += one.messages;
    all.wrong += one.wrong;
    all.cost += one.cost;
  }
  return all;
}

double percentile_us(std::vector<uint64_t> samples_ns, double percent) {
  if (samples_ns.empty()) return 0;
  const auto count = static_cast<double>(samples_ns.size());
  const auto wanted = static_cast<size_t>(std::ceil(percent / 100 * count));
  const size_t index = std::clamp<size_t>(wanted, 1, samples_ns.size()) - 1;
  const auto place = samples_ns.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(samples_ns.begin(), place, samples_ns.end());
  return static_cast<double>(*place) / 1000;
}

Row make_row(const Plan& plan, int ranks, const Measurement& measurement) {
  Row row;
  row.plan = plan;
  const double seconds = static_cast<double>(std::max<uint64_t>(measurement.elapsed_ns, 1)) / 1e9;
  const auto iterations = static_cast<double>(plan.iterations);
  if (plan.test == TestKind::kLatency || is_collective(plan.test)) {
    row.p50_us = measurement.p50_us;
    row.p99_us = measurement.p99_us;
  }
  if (plan.test != TestKind::kLatency) {
    row.gbytes_per_s = static_cast<double>(plan.bytes) * iterations / seconds / 1e9;
  }
  if (plan.test == TestKind::kBandwidth || plan.test == TestKind::kRate) {
    row.msgs_per_s = iterations / seconds;
  }
  if (is_collective(plan.test)) {
    row.busbw_gbytes_per_s = *row.gbytes_per_s * bus_factor(plan.test, ranks);
  }
  if (plan.checked > 0) row.wrong = measurement.wrong;
  add_cost(row, measurement);
  return row;
}

std::optional<double> ratio(const Row& plugin, const Row& raw) {
  const std::optional<double> ours = main_figure(plugin);
  const std::optional<double> theirs = main_figure(raw);
  if (!ours || !theirs || *theirs <= 0) return std::nullopt;
  return *ours / *theirs;
}

nlohmann::ordered_json to_json(const Row& row, const Identity& identity, bool raw) {
  nlohmann::ordered_json object;
  object["test"] = name_of(row.plan.test);
  object["size"] = row.plan.bytes;
  object["ranks"] = identity.ranks;
  put_or_null(object, "abi", identity.abi);
  put_or_null(object, "provider", identity.provider);
  put_or_null(object, "rails", identity.rails);
  object["depth"] = row.plan.depth;
  object["iterations"] = row.plan.iterations;
  put(object, "p50_us", row.p50_us);
  put(object, "p99_us", row.p99_us);
  put(object, "gbytes_per_s", row.gbytes_per_s);
  put(object, "msgs_per_s", row.msgs_per_s);
  put(object, "busbw_gbytes_per_s", row.busbw_gbytes_per_s);
  put(object, "posts_per_msg", row.posts_per_msg);
  put(object, "completions_per_msg", row.completions_per_msg);
  put(object, "control_bytes_per_msg", row.control_bytes_per_msg);
  put(object, "copied_bytes_per_msg", row.copied_bytes_per_msg);
  put(object, "wrong", row.wrong);
  if (raw) object["raw"] = true;
  return object;
}

}  // namespace fabrail::cli::perf
