// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The table of checks: each is one function, grouped by area, causes before their consequences.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "src/cli/doctor/finding.h"
#include "src/cli/doctor/survey.h"

namespace fabrail::doctor {

/// One row of the table.
struct Check {
  std::string_view id;     ///< "AREA.NAME", stable: people grep for it
  std::string_view title;  ///< the question that it answers
  Findings (*run)(const Survey& survey);
  std::string_view explanation;  ///< for --explain: what is read, the rule, its source
};

// One table per area, each beside its functions.
std::span<const Check> instance_checks();
std::span<const Check> device_checks();
std::span<const Check> gpu_checks();
std::span<const Check> limit_checks();
std::span<const Check> library_checks();
std::span<const Check> plugin_checks();
std::span<const Check> environment_checks();
std::span<const Check> value_checks();
std::span<const Check> job_checks();
std::span<const Check> log_checks();

/// The checks that apply to what this survey holds, in the order of the table.
std::vector<Check> checks_for(const Survey& survey);

/// Every check there is.
std::vector<Check> all_checks();

/// Runs them all; the worst findings first, in the order of the table where equally bad.
Findings run_checks(const Survey& survey);

}  // namespace fabrail::doctor
