// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <ostream>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/report.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr int kCannotAnswer = 3;

int explain(const std::string& id, std::ostream& out) {
  for (const Check& check : all_checks()) {
    if (check.id != id) continue;
    out << fmt::format("{}: {}\n\n", check.id, check.title);
    out << wrapped(check.explanation, "");
    return 0;
  }
  out << fmt::format("there is no check '{}'; `fabrail doctor --list` lists them\n", id);
  return kCannotAnswer;
}

int list_checks(std::ostream& out) {
  for (const Check& check : all_checks()) out << fmt::format("{:<26}{}\n", check.id, check.title);
  return 0;
}

int report(const Survey& survey, const std::string& subject, const DoctorOptions& options,
           std::ostream& out) {
  const Findings findings = run_checks(survey);
  if (options.json) {
    write_json(findings, subject, out);
  } else {
    write_text(findings, options.colour, out);
  }
  return exit_code(findings);
}

int run_on_log(const DoctorOptions& options, std::ostream& out) {
  Survey survey;
  if (options.log == "-") {
    survey.log = read_nccl_log(std::cin, "standard input");
    return report(survey, "log", options, out);
  }
  std::ifstream file(options.log);
  if (!file) {
    out << fmt::format("cannot read {}\n", options.log);
    return kCannotAnswer;
  }
  survey.log = read_nccl_log(file, options.log);
  return report(survey, "log", options, out);
}

int run_on_process(const DoctorOptions& options, std::ostream& out) {
  auto job = read_running_job(options.system, options.pid, options.seconds);
  if (!job.ok()) {
    out << job.error().text() << "\n";
    return kCannotAnswer;
  }
  Survey result = survey(system_of(options.system, options.pid));
  result.job = job.take();
  return report(result, "process", options, out);
}

}  // namespace

int run_doctor(const DoctorOptions& options, std::ostream& out) {
  if (options.list) return list_checks(out);
  if (!options.explain.empty()) return explain(options.explain, out);
  if (!options.log.empty()) return run_on_log(options, out);
  if (options.pid != 0) return run_on_process(options, out);
  const Survey result = survey(options.system);
  return report(result, result.is_image() ? "image" : "machine", options, out);
}

}  // namespace fabrail::doctor
