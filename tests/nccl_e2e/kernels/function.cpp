// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The numbers come from NCCL's own formula, asked for every combination that is emulated.
#include "tests/nccl_e2e/kernels/function.h"

#include <map>

namespace emunccl {
namespace {

using Functions = std::map<int, Function>;

constexpr ncclDataType_t kTypes[] = {ncclInt8,    ncclUint8,   ncclInt32,   ncclUint32,
                                     ncclInt64,   ncclUint64,  ncclFloat16, ncclFloat32,
                                     ncclFloat64, ncclBfloat16};
constexpr int kProtocols[] = {NCCL_PROTO_LL, NCCL_PROTO_LL128, NCCL_PROTO_SIMPLE};

void add(Functions* functions, const Function& f) {
  const int number = ncclDevFuncId(f.collective, f.operation, f.type, f.algorithm, f.protocol);
  // Types that share a function (signed and unsigned sums) come in an order in which the unsigned
  // one wins: it wraps around as hardware does.
  if (number >= 0) (*functions)[number] = f;
}

void add_reductions(Functions* functions, Function f) {
  for (int operation = 0; operation < ncclNumDevRedOps; ++operation) {
    f.operation = static_cast<ncclDevRedOp_t>(operation);
    for (const ncclDataType_t type : kTypes) {
      f.type = type;
      add(functions, f);
    }
  }
}

void add_protocol(Functions* functions, int protocol) {
  for (const ncclFunc_t moving : {ncclFuncAllGather, ncclFuncBroadcast}) {
    add(functions, {.collective = moving, .protocol = protocol});
  }
  for (const ncclFunc_t reducing : {ncclFuncAllReduce, ncclFuncReduceScatter, ncclFuncReduce}) {
    add_reductions(functions, {.collective = reducing, .protocol = protocol});
  }
  add_reductions(
      functions,
      {.collective = ncclFuncAllReduce, .algorithm = NCCL_ALGO_TREE, .protocol = protocol});
}

Functions make_functions() {
  Functions functions;
  for (const int protocol : kProtocols) add_protocol(&functions, protocol);
  functions[ncclDevFuncId_P2p()] = Function{};
  return functions;
}

}  // namespace

const Function& function_of(int number) {
  static const Functions& functions = *new Functions(make_functions());
  const auto found = functions.find(number);
  if (found == functions.end()) {
    refuse("NCCL device function %d (PAT, NVLS, CollNet, fp8 ...)", number);
  }
  return found->second;
}

}  // namespace emunccl
