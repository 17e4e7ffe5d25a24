// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The collectives: how large their buffers are, how they are called, what must come out.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/nccl_e2e/program/options.h"
#include "tests/nccl_e2e/program/values.h"

namespace nccl_test {

struct Collective;

/// One call of a collective, as one rank sees it. Counts are of elements.
struct Call {
  Options options;
  const Collective* collective = nullptr;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t operation = ncclSum;
  int rank = 0;
  int ranks = 1;
  std::size_t count = 0;  ///< what NCCL's function is given
  const void* input = nullptr;
  void* output = nullptr;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

struct Collective {
  const char* name;
  bool reduces;          ///< has a reduction to print
  bool rooted;           ///< has a root to print
  bool input_per_rank;   ///< the input has `count` elements for each rank
  bool output_per_rank;  ///< so has the output
  bool in_place;         ///< can run in place
  ncclResult_t (*run)(const Call& call);
  /// This rank's whole output; empty if it gets none.
  std::vector<char> (*expect)(const Call& call, std::uint64_t seed);
  /// busbw = algbw * factor, as nccl-tests defines it.
  double (*bus_factor)(int ranks);
};

/// What the ranks of a call put into their inputs.
Pattern pattern_of(const Call& call, std::uint64_t seed);

std::vector<std::string> collective_names();
const Collective& collective_named(const std::string& name);

}  // namespace nccl_test
