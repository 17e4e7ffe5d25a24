// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Host functions that stand in NCCL's device sources, as they launch kernels by themselves.
#include <cuda_runtime.h>

#include "tests/nccl_e2e/kernels/nccl_device.h"

// A collective of one rank is a copy.
ncclResult_t ncclLaunchOneRank(void* to, const void* from, std::size_t count,
                               ncclDevRedOpFull operation, ncclDataType_t type,
                               cudaStream_t stream) {
  if (operation.op == ncclDevPreMulSum) emunccl::refuse("a scaled sum of one rank");
  if (to == from) return ncclSuccess;
  const std::size_t bytes = count * static_cast<std::size_t>(ncclTypeSize(type));
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 0)
ncclResult_t ncclGinResetSignalsAndCounters(ncclComm*, const ncclDevComm_t*) {
  emunccl::refuse("networking started by the GPU");
}
#endif
