// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Ranks forked on this machine, watched by their parent.
#pragma once

#include <functional>

#include "src/cli/common/socket.h"

namespace fabrail::cli {

/// The work of one rank; `listener` is where the ranks meet: rank 0 accepts on it, the others
/// connect to its port on 127.0.0.1. Returns the exit code of the rank.
using RankBody = std::function<int(int rank, Socket listener)>;

/// Forks `ranks` processes and waits for them. The first that fails or dies ends the others at
/// once. Returns the exit code: in the parent 0 only if all ranks gave 0, in each child its own, so
/// that both leave through main().
int run_local_ranks(int ranks, const RankBody& body);

}  // namespace fabrail::cli
