// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// An outcome for people, as pictures of 80 columns, and for programs, as JSON.
#pragma once

#include <ostream>
#include <string>

#include "src/cli/doctor/finding.h"
#include "src/cli/pair/direction.h"
#include "src/cli/pair/options.h"
#include "src/cli/pair/outcome.h"

namespace fabrail::cli::pair {

/// A row for each sending rail, a column for each receiving one: Gb/s in numbers where they fit,
/// otherwise one letter for each path.
std::string picture_of(const Direction& direction, int slow_percent);

void write_text(const Outcome& outcome, const doctor::Findings& findings, const Options& options,
                std::ostream& out);
void write_json(const Outcome& outcome, const doctor::Findings& findings, const Options& options,
                std::ostream& out);

}  // namespace fabrail::cli::pair
