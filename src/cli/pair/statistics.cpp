// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/pair/statistics.h"

#include <algorithm>
#include <limits>

namespace fabrail::cli::pair {

namespace {

// Latency differs more between healthy paths than bandwidth: PCI distance, polling, noise.
constexpr double kLatencyFactor = 2;
constexpr double kLatencyNoise = 10;  // microseconds

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> rates_of(const Grid& grid) {
  std::vector<double> rates;
  for (const Path& path : grid.paths) {
    if (path.gbits) rates.push_back(*path.gbits);
  }
  return rates;
}

std::vector<double> latencies_of(const Grid& grid) {
  std::vector<double> latencies;
  for (const Path& path : grid.paths) {
    if (path.micros) latencies.push_back(*path.micros);
  }
  return latencies;
}

double slow_limit(const Grid& grid, int percent) { return median(rates_of(grid)) * percent / 100; }

double late_limit(const Grid& grid, int percent) {
  if (percent == 0) return std::numeric_limits<double>::infinity();
  return median(latencies_of(grid)) * kLatencyFactor * 100 / percent + kLatencyNoise;
}

}  // namespace fabrail::cli::pair
