// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Findings as text for people and as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "src/cli/doctor/finding.h"

namespace fabrail::doctor {

/// 0: nothing worse than information; 1: warnings; 2: something is broken.
int exit_code(const Findings& findings);

/// The findings as text of 80 columns: problems in full, the rest in one line each where it fits.
void write_text(const Findings& findings, bool colour, std::ostream& out);

/// The same without the line that sums up.
void write_findings(const Findings& findings, bool colour, std::ostream& out);

/// The findings as one JSON object; `subject` says what was looked at.
nlohmann::ordered_json to_json(const Findings& findings, std::string_view subject);
void write_json(const Findings& findings, std::string_view subject, std::ostream& out);

/// `text` broken at blanks into lines of at most `width` columns, each after `indent`. A word that
/// is longer stands alone. Bytes that a terminal might act on are replaced.
std::string wrapped(std::string_view text, std::string_view indent, std::size_t width = 80);

}  // namespace fabrail::doctor
