// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One process of the job: a rank with a GPU of its own.
#pragma once

#include "tests/nccl_e2e/program/launch.h"
#include "tests/nccl_e2e/program/options.h"

namespace nccl_test {

/// Runs the whole job as this rank.  Returns  the process's exit status.
int run_rank(const Options& options, int rank, Shared* shared);

}  // namespace nccl_test
