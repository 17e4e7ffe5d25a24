// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr std::string_view kIndent = "    ";
constexpr std::size_t kNameColumns = 26;

struct Style {
  std::string_view word;    ///< what JSON and one-line findings call it
  std::string_view title;   ///< in front of a problem
  std::string_view colour;  ///< terminal sequence
};

Style style_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBroken:
      return {"broken", "BROKEN", "\033[1;31m"};
    case Verdict::kWarning:
      return {"warning", "WARNING", "\033[1;33m"};
    case Verdict::kInfo:
      return {"info", "info", "\033[36m"};
    case Verdict::kOk:
      break;
  }
  return {"ok", "ok", "\033[32m"};
}

std::string painted(Verdict verdict, std::string_view text, bool colour) {
  if (!colour) return std::string(text);
  return fmt::format("{}{}\033[0m", style_of(verdict).colour, text);
}

std::size_t count_of(const Findings& findings, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return finding.verdict == verdict; }));
}

Verdict worst_of(const Findings& findings) {
  Verdict worst = Verdict::kOk;
  for (const Finding& finding : findings) worst = std::max(worst, finding.verdict);
  return worst;
}

void write_problem(const Finding& finding, bool colour, std::ostream& out) {
  out << painted(finding.verdict, style_of(finding.verdict).title, colour) << "  " << finding.check
      << "\n";
  out << wrapped(finding.fact, kIndent);
  out << wrapped("Why: " + finding.why, kIndent);
  out << wrapped("Do:  " + finding.action, kIndent) << "\n";
}

/// "ok    efa.count                 32 of 32 EFA NICs are attached", with its reasons below.
void write_line(const Finding& finding, bool colour, std::ostream& out) {
  const std::string_view word = style_of(finding.verdict).word;
  const std::string start = fmt::format("{:<6}{:<{}}", word, finding.check, kNameColumns);
  const std::string indent(start.size(), ' ');
  std::string text = wrapped(finding.fact, indent);
  text.replace(0, start.size(), painted(finding.verdict, word, colour) + start.substr(word.size()));
  out << text;
  if (!finding.why.empty()) out << wrapped(finding.why, indent);
  if (!finding.action.empty()) out << wrapped(finding.action, indent);
}

void write_summary(const Findings& findings, std::ostream& out) {
  const std::size_t broken = count_of(findings, Verdict::kBroken);
  const std::size_t warnings = count_of(findings, Verdict::kWarning);
  const std::size_t ok = count_of(findings, Verdict::kOk);
  if (broken + warnings == 0) {
    out << fmt::format("fabrail doctor: no problem found; {} fine\n\n", counted(ok, "check"));
    return;
  }
  out << fmt::format("fabrail doctor: {} broken, {}, {} fine\n\n", broken,
                     counted(warnings, "warning"), counted(ok, "check"));
}

/// Whether a terminal takes this byte as text; bytes of UTF-8 sequences are kept.
bool is_harmless(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return byte >= 0x20 && byte != 0x7f;
}

std::string cleaned(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](char letter) { return !is_harmless(letter); }, '?');
  return clean;
}

}  // namespace

int exit_code(const Findings& findings) {
  switch (worst_of(findings)) {
    case Verdict::kBroken:
      return 2;
    case Verdict::kWarning:
      return 1;
    default:
      return 0;
  }
}

std::string wrapped(std::string_view text, std::string_view indent, std::size_t width) {
  std::string result;
  std::size_t column = 0;  // 0: nothing in this line yet
  for (const std::string& word : words(text)) {
    const std::string shown = cleaned(word);
    if (column != 0 && column + 1 + shown.size() > width) {
      result += "\n";
      column = 0;
    }
    result += column == 0 ? std::string(indent) : " ";
    column += (column == 0 ? indent.size() : 1) + shown.size();
    result += shown;
  }
  return result + "\n";
}

void write_text(const Findings& findings, bool colour, std::ostream& out) {
  write_summary(findings, out);
  write_findings(findings, colour, out);
}

void write_findings(const Findings& findings, bool colour, std::ostream& out) {
  for (const Finding& finding : findings) {
    if (finding.verdict >= Verdict::kWarning) write_problem(finding, colour, out);
  }
  for (const Finding& finding : findings) {
    if (finding.verdict < Verdict::kWarning) write_line(finding, colour, out);
  }
}

nlohmann::ordered_json to_json(const Findings& findings, std::string_view subject) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"verdict", style_of(finding.verdict).word},
                    {"fact", finding.fact},
                    {"why", finding.why},
                    {"action", finding.action}});
  }
  return {{"schema", 1},
          {"subject", subject},
          {"verdict", style_of(worst_of(findings)).word},
          {"exit", exit_code(findings)},
          {"findings", std::move(list)}};
}

void write_json(const Findings& findings, std::string_view subject, std::ostream& out) {
  // Facts quote files and logs, which may not be UTF-8.
  out << to_json(findings, subject)
             .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
      << "\n";
}

}  // namespace fabrail::doctor
