// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the user asked for on the command line.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tests/nccl_e2e/program/launch.h"

namespace nccl_test {

struct Options {
  std::vector<std::string> collectives{"all_reduce"};
  std::size_t least_bytes = 32;
  std::size_t most_bytes = 0;  ///< 0: as least_bytes
  std::size_t factor = 2;
  Job job;
  int iterations = 5;
  int warmup = 1;
  bool check = true;
  std::vector<ncclDataType_t> types{ncclFloat32};
  std::vector<ncclRedOp_t> operations{ncclSum};
  int root = 0;
  bool register_buffers = false;
  bool corrupt = false;  ///< spoils one byte of a result, to see that it is found
};

/// Parses the command line.  Returns  none with the exit status in `status` if there is nothing to
/// do (help, or an error that was printed).
std::optional<Options> parse_options(int argc, char** argv, int* status);

/// Names as nccl-tests prints them.
const char* type_name(ncclDataType_t type);
const char* operation_name(ncclRedOp_t operation);

}  // namespace nccl_test
