// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The tests between two ranks: latency, bandwidth and message rate, beside raw libfabric if asked.
#pragma once

#include "src/cli/perf/session.h"

namespace fabrail::cli::perf {

/// Runs one of the three between rank 0 and the last rank, which a launcher places farthest
/// apart. Collective; the other ranks look on.
void run_point_to_point(Session& session, TestKind test);

}  // namespace fabrail::cli::perf
