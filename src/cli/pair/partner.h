// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How the two sides tell each other what they are and what they saw: JSON over the rendezvous.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/cli/common/rendezvous.h"
#include "src/cli/pair/outcome.h"
#include "src/cli/pair/raw_rail.h"

namespace fabrail::cli::pair {

/// A side with the addresses of its rails.
struct Card {
  Side side;
  std::vector<RailAddress> addresses;
};

/// Encoding and its inverse, which throws Failure on what no partner of ours would send.
std::string encode(const Card& card);
Card decode_card(const std::string& text);
std::string encode(const Grid& grid);
Grid decode_grid(const std::string& text);

/// The other of two processes.
class Partner {
 public:
  explicit Partner(Rendezvous rendezvous) : rendezvous_(std::move(rendezvous)) {}

  [[nodiscard]] bool is_a() const { return rendezvous_.rank() == 0; }

  /// Gives `mine` and returns what the other side gives, calling `idle` while it waits: NICs
  /// without progress of their own must be polled for the other side to get anything done.
  std::string exchange(const std::string& mine, const std::function<void()>& idle = {});

  /// Throws Failure if the other process has gone.
  void check_alive() const { rendezvous_.check_alive(); }

 private:
  Rendezvous rendezvous_;
};

}  // namespace fabrail::cli::pair
