// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail pair` from the meeting of the two sides to the exit code.
#pragma once

#include <ostream>

#include "src/cli/common/launch.h"
#include "src/cli/pair/options.h"

namespace fabrail::cli::pair {

/// Runs as the options and the environment say: one of two processes that a launcher has started,
/// one side that meets the other, or both sides on this machine. Writes the report to `out`.
///
/// Returns 0 if nothing is wrong, 1 with warnings, 2 if something is broken, 3 if nothing can be
/// said because the two did not meet.
int run_pair(const Options& options, const Environment& environment, std::ostream& out);

}  // namespace fabrail::cli::pair
