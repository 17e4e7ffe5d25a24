// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// NCCL numbers its device functions; this is what a number stands for.
#pragma once

#include <string>

#include "tests/nccl_e2e/kernels/nccl_device.h"

namespace emunccl {

struct Function {
  ncclFunc_t collective = ncclFuncSendRecv;
  ncclDevRedOp_t operation = ncclDevSum;
  ncclDataType_t type = ncclInt8;
  int algorithm = NCCL_ALGO_RING;
  int protocol = NCCL_PROTO_SIMPLE;
};

/// Refuses numbers of functions that are not emulated.
const Function& function_of(int number);

}  // namespace emunccl
