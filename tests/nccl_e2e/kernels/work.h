// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The two kinds of work that a kernel finds: collectives and batches of sends and receives.
#pragma once

#include <vector>

#include "tests/nccl_e2e/kernels/block.h"
#include "tests/nccl_e2e/kernels/function.h"

namespace emunccl {

/// Runs this block's part of one collective.
void run_collective(Block& block, const Function& function, const ncclDevWorkColl& work);

/// Runs this block's part of sends and receives; all of them progress together.
void run_send_receive(Block& block, std::vector<ncclDevWorkP2p> works);

}  // namespace emunccl
