// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The bytes of a checked message: each depends on who sent which message, and on its place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fabrail::cli::perf {

/// What tells one message from all others of a run.
struct MessageId {
  int from = 0;
  int to = 0;
  uint64_t bytes = 0;
  uint64_t iteration = 0;
};

/// Writes the message that starts at `offset` (a multiple of 8) of message `id`.
void fill(std::span<std::byte> message, const MessageId& id, uint64_t offset = 0);

/// Number of bytes that are not what fill() wrote. Looks at every byte.
uint64_t count_wrong(std::span<const std::byte> message, const MessageId& id, uint64_t offset = 0);

/// Element `index` of what `rank` contributes to an all-reduce. Small whole numbers, so that float
/// sums over any order of ranks are exact.
float contribution(int rank, uint64_t iteration, uint64_t index);
void fill_contribution(std::span<float> elements, int rank, uint64_t iteration);

/// Number of elements that are not the exact sum over `ranks` contributions.
uint64_t count_wrong_sums(std::span<const float> elements, int ranks, uint64_t iteration);

}  // namespace fabrail::cli::perf
