// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Middle values of what was measured.
#pragma once

#include <vector>

#include "src/cli/pair/outcome.h"

namespace fabrail::cli::pair {

/// The middle value, the upper one of two; 0 for none.
double median(std::vector<double> values);

/// Gb/s of all paths that were measured.
std::vector<double> rates_of(const Grid& grid);

/// Half round trips of all paths that were measured.
std::vector<double> latencies_of(const Grid& grid);

/// A path whose Gb/s are below this is slow, by the middle of its direction.
double slow_limit(const Grid& grid, int percent);

/// A path whose microseconds are above this is late, by the middle of its direction: the two
/// directions differ in the machine that answers.
double late_limit(const Grid& grid, int percent);

}  // namespace fabrail::cli::pair
