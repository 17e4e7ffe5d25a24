// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One side at work: sends and measures when it is its turn, answers when it is the other's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/pair/options.h"
#include "src/cli/pair/outcome.h"
#include "src/cli/pair/partner.h"
#include "src/cli/pair/raw_rail.h"

namespace fabrail::cli::pair {

/// The paths of both directions, as this side learns them.
struct Paths {
  Grid outgoing;  ///< rows: rails of this side
  Grid incoming;  ///< rows: rails of the other side
};

class Prober {
 public:
  /// `rails` are connected to the `peers` rails of the other side, which runs the same program.
  Prober(const Options& options, Partner& partner, std::vector<std::unique_ptr<Rail>>& rails,
         std::size_t peers);

  /// Goes through everything together with the other side. Throws Failure if that goes away.
  Paths run();

  /// Gives what is under way a moment to end. False if something never will.
  bool settle();

 private:
  /// What this side waits for.
  struct Step {
    std::uint32_t id = 0;
    std::size_t welcomes = 0;
    std::size_t writes = 0;
    std::size_t failures = 0;
    std::string error;
  };

  /// Calls `mine` on one side after the other; who has no turn answers.
  template <class Turn>
  void take_turns(Turn&& mine);

  void greet_all();
  void learn_arrivals();
  void measure_all();
  void measure_again_what_is_slow();
  void measure_small(std::size_t rail, std::size_t peer);
  void measure_large(std::size_t rail, std::size_t peer);
  bool write_many(std::size_t rail, std::size_t peer, std::size_t count);
  bool finish_writes(std::size_t rail, std::size_t peer);
  [[nodiscard]] bool is_open(std::size_t rail, std::size_t peer) const;

  void begin_step();
  template <class Done>
  bool wait(Done&& done);
  bool poll();
  bool poll(std::size_t rail);
  void handle(std::size_t rail, const Rail::Event& event);
  void fail(std::size_t rail, const Rail::Event& event);

  const Options& options_;
  Partner& partner_;
  std::vector<std::unique_ptr<Rail>>& rails_;
  Grid outgoing_;
  Grid incoming_;
  Step step_;
  std::size_t busy_ = 0;      ///< the rail on which something happened last
  std::uint64_t rounds_ = 0;  ///< of polling
  std::size_t stuck_ = 0;     ///< paths whose large messages did not arrive
};

}  // namespace fabrail::cli::pair
