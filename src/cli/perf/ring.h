// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Who sends which part of the vector when, in a ring all-reduce. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fabrail::cli::perf {

/// A range of elements.
struct Extent {
  size_t begin = 0;
  size_t count = 0;
};

/// The vector is cut into one chunk for each rank, a chunk into slices that travel as messages.
/// Steps 0 .. n-2 reduce (each rank ends up with one summed chunk), steps n-1 .. 2n-3 gather.
class RingLayout {
 public:
  RingLayout(int rank, int ranks, size_t elements, size_t slice_elements);

  int steps() const { return 2 * (ranks_ - 1); }
  uint64_t slices() const { return slices_; }  ///< in each step
  /// Messages that a rank sends, and as many that it receives, in the order of posting.
  uint64_t transfers() const { return static_cast<uint64_t>(steps()) * slices_; }

  int step_of(uint64_t transfer) const { return static_cast<int>(transfer / slices_); }
  bool reduces(uint64_t transfer) const { return step_of(transfer) < ranks_ - 1; }
  Extent sent(uint64_t transfer) const;
  Extent received(uint64_t transfer) const;

  /// Number of own receives that must have been worked in before `transfer` can be sent.
  uint64_t receives_before_send(uint64_t transfer) const;
  /// Number of own sends that must have ended before the memory of received(`transfer`) may be
  /// overwritten: the partial sum that was sent from there.
  uint64_t sends_before_receive(uint64_t transfer) const;

 private:
  Extent extent(int chunk, uint64_t transfer) const;

  int rank_;
  int ranks_;
  size_t elements_;
  size_t slice_elements_;
  uint64_t slices_;
};

}  // namespace fabrail::cli::perf
