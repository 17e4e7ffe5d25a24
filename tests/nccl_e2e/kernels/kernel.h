// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The one behaviour behind every kernel that NCCL launches.
#pragma once

#include "tests/sim/gpu/emugpu.h"

namespace emunccl {

/// Runs a grid; `arguments` are NCCL's ncclDevKernelArgs and the batches behind them.
void run_kernel(const void* arguments, const emugpu_grid* grid);

}  // namespace emunccl
