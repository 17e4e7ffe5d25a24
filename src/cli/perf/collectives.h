// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The tests over all ranks: ring all-reduce and all-to-all.
#pragma once

#include "src/cli/perf/session.h"

namespace fabrail::cli::perf {

/// Runs one of the two. Collective.
void run_collective(Session& session, TestKind test);

}  // namespace fabrail::cli::perf
