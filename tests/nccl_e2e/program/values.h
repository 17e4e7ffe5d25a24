// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The contents of buffers. Every rank can compute the input of every other one, so each byte of a
// result is known.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nccl_test {

/// Names the inputs of one call. What is only moved is random bytes. What is reduced is small
/// integers, chosen so that every sum, product and average of them is exact in every type (an
/// average of floating point numbers is to within its rounding).
struct Pattern {
  bool reduces = false;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t operation = ncclSum;
  int ranks = 1;
  std::uint64_t seed = 0;
};

std::size_t type_bytes(ncclDataType_t type);

/// Elements [first, first + count) of a rank's input.
std::vector<char> input_of(const Pattern& pattern, int rank, std::size_t first, std::size_t count);

/// Elements [first, first + count) of all ranks' inputs, reduced.
std::vector<char> reduced(const Pattern& pattern, std::size_t first, std::size_t count);

/// The number of elements that are not what they must be. Bytes are compared; only averages of
/// floating point numbers may differ, in the last digits.
std::size_t count_wrong(const Pattern& pattern, const std::vector<char>& got,
                        const std::vector<char>& wanted);

}  // namespace nccl_test
