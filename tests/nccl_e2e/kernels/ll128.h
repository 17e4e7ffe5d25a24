// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Lines of the LL128 protocol: words of 8 bytes, of which the last is the number of the line's step
// as a flag. What a path splits or reorders within a line is wrong data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tests/nccl_e2e/kernels/lines.h"

namespace emunccl {

struct Ll128Line {
  std::uint64_t words[NCCL_LL128_DATAELEMS];
  std::uint64_t flag;
};
static_assert(sizeof(Ll128Line) == NCCL_LL128_LINESIZE);

inline constexpr std::size_t kLl128DataBytes = sizeof(Ll128Line::words);

inline std::uint64_t ll128_flag(std::uint64_t step) { return step + 1; }

/// Lines that are sent for so many bytes: what the threads of a warp move together is always whole.
inline std::size_t ll128_lines(std::size_t bytes) {
  const auto grain = static_cast<std::size_t>(ncclProtoGrainSize(NCCL_PROTO_LL128));
  return (bytes + grain - 1) / grain * (grain / kLl128DataBytes);
}

inline void ll128_store(Ll128Line* line, const std::uint64_t* words, std::uint64_t flag) {
  for (std::size_t i = 0; i < NCCL_LL128_DATAELEMS; ++i) {
    __atomic_store_n(&line->words[i], words[i], __ATOMIC_RELAXED);
  }
  store_release(&line->flag, flag);
}

/// Takes the data out and leaves marks.  Returns  false while the line has not arrived.
inline bool ll128_take(Ll128Line* line, std::uint64_t step, std::uint64_t* words) {
  if (load_acquire(&line->flag) != ll128_flag(step)) return false;
  for (std::size_t i = 0; i < NCCL_LL128_DATAELEMS; ++i) {
    words[i] = __atomic_exchange_n(&line->words[i], kTaken, __ATOMIC_RELAXED);
  }
  if (std::find(words, words + NCCL_LL128_DATAELEMS, kTaken) != words + NCCL_LL128_DATAELEMS) {
    report_torn("LL128", step);
  }
  return true;
}

}  // namespace emunccl
