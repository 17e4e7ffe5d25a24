// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Time for deadlines and silence: coarse, monotonic, without a system call.
#pragma once

#include <cstdint>
#include <ctime>

namespace fabrail::transport {

/// Milliseconds of a clock that nobody sets, a few milliseconds behind at most.
inline std::int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

}  // namespace fabrail::transport
