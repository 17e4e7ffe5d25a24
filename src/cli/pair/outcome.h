// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What `fabrail pair` finds out: the two sides, and every path from a rail to a rail.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace fabrail::cli::pair {

/// One rail as its own side sees it.
struct RailFacts {
  std::string name;
  int speed_mbps = 0;  ///< 0 unknown
  int mtu = 0;         ///< 0 unknown

  bool operator==(const RailFacts&) const = default;
};

/// One side.
struct Side {
  std::string host;
  std::string provider;
  std::string libfabric;  ///< version
  std::string problem;    ///< why it has no rails; empty if it has
  std::vector<RailFacts> rails;

  bool operator==(const Side&) const = default;
};

enum class Reach { kSilent, kArrived, kFailed };

/// From one rail of one side to one rail of the other.
struct Path {
  Reach reach = Reach::kSilent;       ///< of the first small message
  std::string error = {};             ///< libfabric's words, for kFailed
  bool large_stuck = false;           ///< small messages arrive, large ones do not within the time
  std::optional<double> gbits = {};   ///< Gb/s of large messages, none if not measured
  std::optional<double> micros = {};  ///< half a round trip of small messages

  bool operator==(const Path&) const = default;
};

/// All paths of one direction: a row for each rail of the sender, a column for each of the
/// receiver.
struct Grid {
  Grid() = default;
  Grid(std::size_t senders, std::size_t receivers)
      : rows(senders), columns(receivers), paths(senders * receivers) {}

  Path& at(std::size_t row, std::size_t column) { return paths[row * columns + column]; }
  [[nodiscard]] const Path& at(std::size_t row, std::size_t column) const {
    return paths[row * columns + column];
  }
  bool operator==(const Grid&) const = default;

  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<Path> paths;
};

/// Everything: `a` is the side that others meet at (rank 0).
struct Outcome {
  Side a;
  Side b;
  Grid a_to_b;
  Grid b_to_a;
};

}  // namespace fabrail::cli::pair
