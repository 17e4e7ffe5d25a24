// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What is wrong between two sides, from what was seen: values in, findings out.
#pragma once

#include "src/cli/doctor/finding.h"
#include "src/cli/pair/outcome.h"

namespace fabrail::cli::pair {

/// What both sides must have in common before anything can be sent: empty if they have it.
doctor::Findings obstacles(const Side& a, const Side& b);

/// All findings, the worst first, causes before what follows from them.
///
/// `slow_percent`  of the middle rate, below which a path is slow.
doctor::Findings judge(const Outcome& outcome, int slow_percent);

}  // namespace fabrail::cli::pair
