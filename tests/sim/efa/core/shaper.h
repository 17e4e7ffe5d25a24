// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Bandwidth and latency in real time: a schedule per direction of each NIC, kept in shared memory.
#pragma once

#include <cstdint>

#include "tests/sim/efa/core/layout.h"
#include "tests/sim/efa/core/random.h"

namespace fabrail::sim {

/// A granted transfer is over at `finish_ns`; a refused one may be tried again at `retry_ns`.
struct Grant {
  bool granted = true;
  uint64_t finish_ns = 0;
  uint64_t retry_ns = 0;
};

/// Books `bytes` of an operation that was ready at `arrived` on both ends of a path. Either end
/// without a cap costs nothing.
///
/// The schedule is virtual: what was ready in time keeps its place however late the caller comes,
/// so a busy machine does not lower the rate. It may run ahead of the clock by kLead.
Grant book(DeviceState& sender, DeviceState& receiver, uint64_t bytes, uint64_t arrived,
           uint64_t now);

inline constexpr uint64_t kLead = 4'000'000;

/// The path has a cap.
bool is_capped(const DeviceState& one, const DeviceState& other);

/// One way's latency now: the fixed part and a drawn one, of the slower end.
uint64_t draw_latency(const DeviceState& sender, const DeviceState& receiver, Random& random);

}  // namespace fabrail::sim
