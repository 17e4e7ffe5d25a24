// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Counting what a message costs, into the page that others may be reading.
#pragma once

#include <atomic>
#include <cstdint>

#include "include/fabrail_counters.h"

namespace fabrail::transport {

/// Adds to a counter that this thread alone writes (the engine's mutex is held) and anyone may
/// read.
inline void count(std::uint64_t& counter, std::uint64_t amount = 1) {
  // Relaxed load and store: an ordinary addition, without a locked instruction; readers want no
  // order.
  std::atomic_ref<std::uint64_t> cell(counter);
  cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace fabrail::transport
