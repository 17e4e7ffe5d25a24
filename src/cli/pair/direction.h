// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One direction between two sides, and which rails or single paths of it stand out.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/pair/outcome.h"

namespace fabrail::cli::pair {

/// A rail in one of its two roles.
struct RailRole {
  char side = 'A';
  std::size_t rail = 0;
  std::string name;
  bool sending = false;
};

/// "rail 2 of A (rdmap79s0)" where it is there in both roles, otherwise with the role.
std::vector<std::string> describe(const std::vector<RailRole>& roles);

/// References the Outcome that it was made of.
struct Direction {
  /// What a path says to a question; none if it was not measured.
  using Question = std::function<std::optional<bool>(const Path&)>;
  using Position = std::pair<std::size_t, std::size_t>;  ///< row, column

  char from = 'A';
  char to = 'B';
  const Side& sender;
  const Side& receiver;
  const Grid& grid;

  [[nodiscard]] std::string text() const;  ///< "A to B"
  [[nodiscard]] std::size_t arrived() const;

  /// Rails all of whose paths in this direction say yes.
  [[nodiscard]] std::vector<RailRole> rails_where(const Question& question) const;
  /// Paths that say yes, though neither of their rails does on all paths.
  [[nodiscard]] std::vector<Position> single_paths_where(const Question& question) const;

  /// "A 2 (rdmap79s0) to B 0 (rdmap80s0)"
  [[nodiscard]] std::string describe(Position position) const;

 private:
  [[nodiscard]] bool row_says(const Question& question, std::size_t row) const;
  [[nodiscard]] bool column_says(const Question& question, std::size_t column) const;
};

/// A to B, then B to A.
std::vector<Direction> directions_of(const Outcome& outcome);

}  // namespace fabrail::cli::pair
