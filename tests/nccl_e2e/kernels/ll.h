// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Lines of the LL protocol: 8 bytes of data in 16, each half with the number of its step as a flag,
// so that a line that has arrived is known by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/nccl_e2e/kernels/lines.h"

namespace emunccl {

inline constexpr std::size_t kLlDataBytes = 8;

inline std::uint32_t ll_flag(std::uint64_t step) { return NCCL_LL_FLAG(step + 1); }

/// Before flags repeat, a step writes every line of its slot.
inline bool ll_cleans(std::uint64_t step) {
  return (step & NCCL_LL_CLEAN_MASK) == NCCL_LL_CLEAN_MASK;
}

inline std::size_t ll_lines(std::size_t bytes) { return (bytes + kLlDataBytes - 1) / kLlDataBytes; }

// Each half is written whole: 8 bytes is what the protocol asks of every path.
inline void ll_store(ncclLLFifoLine* line, std::uint64_t data, std::uint32_t flag) {
  const std::uint64_t high_flag = std::uint64_t{flag} << 32;
  store_release(&line->v[0], (data & 0xffffffffU) | high_flag);
  store_release(&line->v[1], (data >> 32) | high_flag);
}

/// Takes the data out and leaves marks.  Returns  false while the line has not arrived.
inline bool ll_take(ncclLLFifoLine* line, std::uint64_t step, std::uint64_t* data) {
  constexpr auto kMark = static_cast<std::uint32_t>(kTaken);
  const std::uint64_t first = load_acquire(&line->v[0]);
  const std::uint64_t second = load_acquire(&line->v[1]);
  const std::uint32_t flag = ll_flag(step);
  if (first >> 32 != flag || second >> 32 != flag) return false;
  const auto low = static_cast<std::uint32_t>(first);
  const auto high = static_cast<std::uint32_t>(second);
  if (low == kMark || high == kMark) report_torn("LL", step);
  __atomic_store_n(&line->data1, kMark, __ATOMIC_RELAXED);
  __atomic_store_n(&line->data2, kMark, __ATOMIC_RELAXED);
  *data = low | std::uint64_t{high} << 32;
  return true;
}

}  // namespace emunccl
