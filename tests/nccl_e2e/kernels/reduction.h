// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What a reduction does to elements of one type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tests/nccl_e2e/kernels/nccl_device.h"

namespace emunccl {

struct Reduction {
  using Each = void (*)(char* values, std::size_t count, std::uint64_t argument);
  using Combine = void (*)(char* into, const char* values, std::size_t count,
                           std::uint64_t argument);

  std::size_t element_bytes = 1;
  Each begin = nullptr;       ///< on this rank's own input; may be null
  Combine combine = nullptr;  ///< null: data is moved, never reduced
  Each finish = nullptr;      ///< on the complete result; may be null
  std::size_t argument_bytes = 0;
};

/// None if the operation or type is not emulated.
std::optional<Reduction> find_reduction(ncclDevRedOp_t operation, ncclDataType_t type);

}  // namespace emunccl
