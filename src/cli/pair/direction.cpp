// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/pair/direction.h"

#include <fmt/format.h>

#include <algorithm>

namespace fabrail::cli::pair {

namespace {

/// Whether at least one path answers, and all that do say yes.
class Unanimity {
 public:
  void hear(std::optional<bool> answer) {
    if (!answer) return;
    heard_ = true;
    all_ = all_ && *answer;
  }
  [[nodiscard]] bool yes() const { return heard_ && all_; }

 private:
  bool heard_ = false;
  bool all_ = true;
};

std::string with_name(std::string text, const std::string& name) {
  return name.empty() ? text : fmt::format("{} ({})", text, name);
}

}  // namespace

std::vector<std::string> describe(const std::vector<RailRole>& roles) {
  std::vector<std::string> texts;
  for (const RailRole& role : roles) {
    const bool both = std::any_of(roles.begin(), roles.end(), [&](const RailRole& other) {
      return other.side == role.side && other.rail == role.rail && other.sending != role.sending;
    });
    if (both && !role.sending) continue;  // said with the other role
    const std::string text =
        with_name(fmt::format("rail {} of {}", role.rail, role.side), role.name);
    texts.push_back(both ? text : text + (role.sending ? " when it sends" : " when it receives"));
  }
  return texts;
}

std::string Direction::text() const { return fmt::format("{} to {}", from, to); }

std::size_t Direction::arrived() const {
  return static_cast<std::size_t>(
      std::count_if(grid.paths.begin(), grid.paths.end(),
                    [](const Path& path) { return path.reach == Reach::kArrived; }));
}

bool Direction::row_says(const Question& question, std::size_t row) const {
  Unanimity votes;
  for (std::size_t column = 0; column < grid.columns; ++column)
    votes.hear(question(grid.at(row, column)));
  return votes.yes();
}

bool Direction::column_says(const Question& question, std::size_t column) const {
  Unanimity votes;
  for (std::size_t row = 0; row < grid.rows; ++row) votes.hear(question(grid.at(row, column)));
  return votes.yes();
}

std::vector<RailRole> Direction::rails_where(const Question& question) const {
  std::vector<RailRole> roles;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    if (row_says(question, row)) roles.push_back({from, row, sender.rails[row].name, true});
  }
  for (std::size_t column = 0; column < grid.columns; ++column) {
    if (column_says(question, column))
      roles.push_back({to, column, receiver.rails[column].name, false});
  }
  return roles;
}

std::vector<Direction::Position> Direction::single_paths_where(const Question& question) const {
  std::vector<Position> found;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    if (row_says(question, row)) continue;
    for (std::size_t column = 0; column < grid.columns; ++column) {
      if (question(grid.at(row, column)).value_or(false) && !column_says(question, column))
        found.emplace_back(row, column);
    }
  }
  return found;
}

std::string Direction::describe(Position position) const {
  const auto [row, column] = position;
  return fmt::format("{} to {}", with_name(fmt::format("{} {}", from, row), sender.rails[row].name),
                     with_name(fmt::format("{} {}", to, column), receiver.rails[column].name));
}

std::vector<Direction> directions_of(const Outcome& outcome) {
  return {{'A', 'B', outcome.a, outcome.b, outcome.a_to_b},
          {'B', 'A', outcome.b, outcome.a, outcome.b_to_a}};
}

}  // namespace fabrail::cli::pair
