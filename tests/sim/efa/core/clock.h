// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The clock that all emulated nodes of a machine share.
#pragma once

#include <time.h>

#include <cstdint>
#include <limits>

namespace fabrail::sim {

inline constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
inline constexpr uint64_t kMicrosecond = 1'000;
inline constexpr uint64_t kMillisecond = 1'000'000;

inline uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace fabrail::sim
