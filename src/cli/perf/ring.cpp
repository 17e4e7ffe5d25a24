// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Who sends which part of the vector when, in a ring all-reduce.
#include "src/cli/perf/ring.h"

#include <algorithm>

namespace fabrail::cli::perf {

RingLayout::RingLayout(int rank, int ranks, size_t elements, size_t slice_elements)
    : rank_(rank), ranks_(ranks), elements_(elements), slice_elements_(slice_elements) {
  const auto parts = static_cast<size_t>(ranks);
  const size_t largest_chunk = (elements + parts - 1) / parts;
  // An empty chunk still travels, as an empty message, so that both sides count alike.
  slices_ = std::max<size_t>(1, (largest_chunk + slice_elements - 1) / slice_elements);
}

Extent RingLayout::extent(int chunk, uint64_t transfer) const {
  const auto parts = static_cast<size_t>(ranks_);
  const auto index = static_cast<size_t>((chunk % ranks_ + ranks_) % ranks_);
  const size_t begin = elements_ * index / parts;
  const size_t end = elements_ * (index + 1) / parts;
  const size_t slice_begin = std::min(end, begin + transfer % slices_ * slice_elements_);
  return {slice_begin, std::min(end, slice_begin + slice_elements_) - slice_begin};
}

Extent RingLayout::sent(uint64_t transfer) const {
  return extent(rank_ - step_of(transfer), transfer);
}

Extent RingLayout::received(uint64_t transfer) const {
  return extent(rank_ - step_of(transfer) - 1, transfer);
}

uint64_t RingLayout::receives_before_send(uint64_t transfer) const {
  // A step sends on what the step before has received, slice by slice.
  return transfer < slices_ ? 0 : transfer - slices_ + 1;
}

uint64_t RingLayout::sends_before_receive(uint64_t transfer) const {
  // Gather step n-1+j overwrites the chunk whose partial sum reduce step j has sent; step 0 sends
  // from the input instead.
  const uint64_t first_gather = static_cast<uint64_t>(ranks_ - 1) * slices_;
  if (transfer < first_gather + slices_) return 0;
  return transfer - first_gather + 1;
}

}  // namespace fabrail::cli::perf
