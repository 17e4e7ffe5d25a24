// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/checks.h"

#include <algorithm>
#include <iterator>

namespace fabrail::doctor {

namespace {

void append(std::vector<Check>& all, std::span<const Check> some) {
  all.insert(all.end(), some.begin(), some.end());
}

std::vector<Check> machine_checks() {
  std::vector<Check> all;
  for (const auto table : {instance_checks, device_checks, gpu_checks, limit_checks, plugin_checks,
                           library_checks, environment_checks, value_checks}) {
    append(all, table());
  }
  return all;
}

}  // namespace

std::vector<Check> all_checks() {
  std::vector<Check> all = machine_checks();
  append(all, job_checks());
  append(all, log_checks());
  return all;
}

std::vector<Check> checks_for(const Survey& survey) {
  if (survey.log) {
    const auto table = log_checks();
    return {table.begin(), table.end()};
  }
  std::vector<Check> checks;
  if (survey.job) append(checks, job_checks());
  const std::vector<Check> rest = machine_checks();
  append(checks, rest);
  return checks;
}

Findings run_checks(const Survey& survey) {
  Findings all;
  for (const Check& check : checks_for(survey)) {
    for (Finding& finding : check.run(survey)) {
      finding.check = check.id;
      all.push_back(std::move(finding));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Finding& a, const Finding& b) { return a.verdict > b.verdict; });
  return all;
}

Survey survey(System system) {
  Survey result;
  result.settings = read_settings(system);
  result.hardware = read_hardware(system);
  result.software = read_software(system, result.settings);
  result.type = topology::find_instance_type(result.hardware.product);
  result.system = std::move(system);
  return result;
}

}  // namespace fabrail::doctor
