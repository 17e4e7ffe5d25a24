// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One measured row: what the ranks saw, and the figures made of it. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/cli/perf/cost_page.h"
#include "src/cli/perf/plan.h"

namespace fabrail::cli::perf {

/// What one rank saw in the timed loop and the check after it; plain, so that ranks exchange it.
struct Measurement {
  uint64_t elapsed_ns = 0;
  uint64_t messages = 0;  ///< sent by this rank in the timed loop
  uint64_t wrong = 0;     ///< bytes, of all-reduce elements
  double p50_us = 0;
  double p99_us = 0;
  Cost cost;
};

/// One for the whole job: the slowest time, the sum of everything else.
Measurement combine(std::span<const Measurement> ranks);

/// Value below which `percent` of the samples lie (nearest rank), in microseconds.
double percentile_us(std::vector<uint64_t> samples_ns, double percent);

/// Who measured: the same for all rows of a run.
struct Identity {
  int ranks = 0;
  std::optional<int> abi;  ///< not for raw rows
  std::optional<std::string> provider;
  std::optional<int> rails;
};

/// Empty where a figure does not apply to the test.
struct Row {
  Plan plan;
  std::optional<double> p50_us;
  std::optional<double> p99_us;
  std::optional<double> gbytes_per_s;
  std::optional<double> msgs_per_s;
  std::optional<double> busbw_gbytes_per_s;
  std::optional<uint64_t> wrong;
  std::optional<double> posts_per_msg;
  std::optional<double> completions_per_msg;
  std::optional<double> control_bytes_per_msg;
  std::optional<double> copied_bytes_per_msg;
};

Row make_row(const Plan& plan, int ranks, const Measurement& measurement);

/// plugin / raw in the figure that the test is about; empty where one is missing or zero.
std::optional<double> ratio(const Row& plugin, const Row& raw);

nlohmann::ordered_json to_json(const Row& row, const Identity& identity, bool raw);

}  // namespace fabrail::cli::perf
