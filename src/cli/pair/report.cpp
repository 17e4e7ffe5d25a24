// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/pair/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/cli/doctor/report.h"
#include "src/cli/pair/statistics.h"

namespace fabrail::cli::pair {

namespace {

using doctor::Findings;
using nlohmann::ordered_json;

constexpr std::size_t kMostNumbers = 9;   // columns of numbers in 80 columns
constexpr std::size_t kMostLetters = 72;  // columns of letters
constexpr int kCell = 8;

/// What one path is called where there is no number.
char letter_of(const Path& path, double limit) {
  if (path.reach == Reach::kSilent) return 'x';
  if (path.reach == Reach::kFailed) return 'e';
  if (path.large_stuck) return 'L';
  if (!path.gbits) return '?';
  return *path.gbits < limit ? '-' : 'o';
}

const char* word_of(char letter) {
  switch (letter) {
    case 'x':
      return "dead";
    case 'e':
      return "error";
    case 'L':
      return "small";
    default:
      return "?";
  }
}

/// Three digits that count.
std::string number_of(double gbits) {
  return fmt::format("{:.{}f}", gbits, gbits < 10 ? 2 : gbits < 100 ? 1 : 0);
}

std::string number_or_word(const Path& path, double limit) {
  const char letter = letter_of(path, limit);
  if (!path.gbits || (letter != 'o' && letter != '-')) {
    return fmt::format("{:>{}}", word_of(letter), kCell - 1) + " ";
  }
  return fmt::format("{:>{}}{}", number_of(*path.gbits), kCell - 1, letter == '-' ? '*' : ' ');
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// "0 1 2 ..." above numbers, tens and ones above letters.
std::string heading(std::size_t columns, bool numbers) {
  std::string text;
  if (numbers) {
    for (std::size_t i = 0; i < columns; ++i) text += fmt::format("{:>{}} ", i, kCell - 1);
    return trimmed(fmt::format("{:>4}{}", "", text)) + "\n";
  }
  std::string tens;
  for (std::size_t i = 0; i < columns; ++i) {
    tens += i % 10 == 0 ? fmt::format("{}", i / 10 % 10) : " ";
    text += fmt::format("{}", i % 10);
  }
  return fmt::format("{:>6}{}\n{:>6}{}\n", "", trimmed(tens), "", text);
}

std::string row_of(const Direction& direction, std::size_t row, std::size_t columns, bool numbers,
                   double limit) {
  std::string text = numbers ? fmt::format("{:>4}", row) : fmt::format("{:>4}  ", row);
  for (std::size_t column = 0; column < columns; ++column) {
    const Path& path = direction.grid.at(row, column);
    text += numbers ? number_or_word(path, limit) : std::string(1, letter_of(path, limit));
  }
  return text;
}

std::string facts_of(const RailFacts& rail) {
  std::string text = rail.name;
  if (rail.speed_mbps > 0) text += fmt::format(", {} Gb/s", rail.speed_mbps / 1000.0);
  if (rail.mtu > 0) text += fmt::format(", MTU {}", rail.mtu);
  return text;
}

std::string rail_table(const Outcome& outcome) {
  std::string text = fmt::format("rail  {:<36}  {}\n", "A", "B");
  for (std::size_t i = 0; i < std::max(outcome.a.rails.size(), outcome.b.rails.size()); ++i) {
    const std::string a = i < outcome.a.rails.size() ? facts_of(outcome.a.rails[i]) : "none";
    const std::string b = i < outcome.b.rails.size() ? facts_of(outcome.b.rails[i]) : "none";
    text += fmt::format("{:>4}  {:<36.36}  {:.36}\n", i, a, b);
  }
  return text;
}

constexpr const char* kLetters =
    "o fine, - slow, L only small messages arrive, x nothing arrives, e error,\n? not measured\n";
constexpr const char* kNumbers =
    "Gb/s of large messages; * slow, small: only small messages arrive, dead: nothing\narrives, "
    "error: libfabric refuses, ?: not measured\n";

void write_pictures(const Outcome& outcome, const Options& options, std::ostream& out) {
  bool numbers = true;
  for (const Direction& direction : directions_of(outcome)) {
    out << "\n" << picture_of(direction, options.slow_percent);
    numbers = numbers && direction.grid.columns <= kMostNumbers;
  }
  out << (numbers ? kNumbers : kLetters) << "\n";
}

const char* reach_word(Reach reach) {
  switch (reach) {
    case Reach::kArrived:
      return "arrived";
    case Reach::kFailed:
      return "failed";
    case Reach::kSilent:
      break;
  }
  return "silent";
}

ordered_json json_of(const Side& side) {
  ordered_json rails = ordered_json::array();
  for (const RailFacts& rail : side.rails) {
    rails.push_back({{"name", rail.name}, {"speed_mbps", rail.speed_mbps}, {"mtu", rail.mtu}});
  }
  return {{"host", side.host},
          {"provider", side.provider},
          {"libfabric", side.libfabric},
          {"rails", std::move(rails)}};
}

ordered_json json_of(const Grid& grid) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < grid.paths.size(); ++i) {
    const Path& path = grid.paths[i];
    ordered_json one = {{"from", i / grid.columns},
                        {"to", i % grid.columns},
                        {"reach", reach_word(path.reach)},
                        {"large_arrives", path.gbits.has_value()}};
    if (!path.error.empty()) one["error"] = path.error;
    if (path.gbits) one["gbits"] = *path.gbits;
    if (path.micros) one["micros"] = *path.micros;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

std::string picture_of(const Direction& direction, int slow_percent) {
  const bool numbers = direction.grid.columns <= kMostNumbers;
  const std::size_t columns = std::min(direction.grid.columns, kMostLetters);
  const double limit = slow_limit(direction.grid, slow_percent);
  std::string text = fmt::format("{}: rows are rails of {}, columns rails of {}\n",
                                 direction.text(), direction.from, direction.to);
  text += heading(columns, numbers);
  for (std::size_t row = 0; row < direction.grid.rows; ++row)
    text += trimmed(row_of(direction, row, columns, numbers, limit)) + "\n";
  if (columns < direction.grid.columns) text += "(further columns are in the JSON)\n";
  return text;
}

void write_text(const Outcome& outcome, const Findings& findings, const Options& options,
                std::ostream& out) {
  out << doctor::wrapped(
      fmt::format("fabrail pair: A is {}, B is {}; provider {}, libfabric {}", outcome.a.host,
                  outcome.b.host, outcome.a.provider, outcome.a.libfabric),
      "");
  if (!outcome.a_to_b.paths.empty()) {
    out << rail_table(outcome);
    write_pictures(outcome, options, out);
  }
  doctor::write_findings(findings, options.colour, out);
}

void write_json(const Outcome& outcome, const Findings& findings, const Options& options,
                std::ostream& out) {
  ordered_json report = doctor::to_json(findings, "pair");
  report["a"] = json_of(outcome.a);
  report["b"] = json_of(outcome.b);
  report["large_bytes"] = options.large_bytes;
  report["a_to_b"] = json_of(outcome.a_to_b);
  report["b_to_a"] = json_of(outcome.b_to_a);
  out << report.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
}

}  // namespace fabrail::cli::pair
