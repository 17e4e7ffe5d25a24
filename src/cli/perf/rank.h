// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One rank of `fabrail perf`, from the rendezvous to the exit code.
#pragma once

#include "src/cli/common/launch.h"
#include "src/cli/common/socket.h"
#include "src/cli/perf/options.h"

namespace fabrail::cli::perf {

/// Which of how many.
struct RankOf {
  int rank = 0;
  int ranks = 0;
};

/// A rank that run_local_ranks() has forked. Reports its own failure; returns the exit code.
int run_local_rank(const Options& options, RankOf place, Socket listener,
                   const Environment& environment);

/// A rank that a launcher has started.
int run_launched_rank(const Options& options, Place place, const Environment& environment);

}  // namespace fabrail::cli::perf
