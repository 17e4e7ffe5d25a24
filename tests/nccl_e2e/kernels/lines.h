// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the protocols share whose flags lie inside the data: a line must become visible whole, or
// its flag last. A kernel that has taken a line leaves marks in it, so that data which come later
// than their flag are wrong data, even where they repeat what the line held before.
#pragma once

#include <cstdint>

#include "tests/nccl_e2e/kernels/block.h"

namespace emunccl {

/// A mark that hardly any data equal.
inline constexpr std::uint64_t kTaken = 0xd1b54a32d192ed03U;

/// Counts a line that had its flag but still the marks of the last one, and says so once. The
/// kernel goes on with what it has found.
void report_torn(const char* protocol, std::uint64_t step);

}  // namespace emunccl

/// Torn lines that the kernels of this process have found. Programs look it up by name.
extern "C" __attribute__((visibility("default"))) std::uint64_t ncclEmulatedTornLines();
