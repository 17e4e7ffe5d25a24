// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Thread state, versions, errors and the way to driver functions.
#include "tests/sim/gpu/runtime/runtime.h"

#include <cstdio>
#include <utility>

namespace emugpu::runtime {
namespace {

// Trivially destructible: NCCL calls in from an atexit handler, when thread_locals are gone.
thread_local cudaError_t t_last_error;
thread_local int t_device;

}  // namespace

cudaError_t finish(CUresult result) {
  const auto error = static_cast<cudaError_t>(result);
  if (error != cudaSuccess && error != cudaErrorNotReady) t_last_error = error;
  return error;
}

cudaError_t refuse(const char* function) {
  std::fprintf(stderr, "[emugpu] %s is not emulated\n", function);
  return finish(CUDA_ERROR_NOT_SUPPORTED);
}

CUresult bind(int device) {
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS) return result;
  CUcontext context = nullptr;
  if (const CUresult result = cuDevicePrimaryCtxRetain(&context, device); result != CUDA_SUCCESS) {
    return result;
  }
  t_device = device;
  return cuCtxSetCurrent(context);
}

CUresult enter() {
  CUcontext context = nullptr;
  const CUresult result = cuCtxGetCurrent(&context);
  if (result != CUDA_SUCCESS || context != nullptr) return result;
  return bind(t_device);
}

int bound_device() {
  CUdevice device = 0;
  return cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : t_device;
}

}  // namespace emugpu::runtime

using namespace emugpu::runtime;

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) { return finish(cuDriverGetVersion(version)); }

cudaError_t cudaGetLastError() { return std::exchange(emugpu::runtime::t_last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return emugpu::runtime::t_last_error; }

const char* cudaGetErrorString(cudaError_t error) {
  const char* text = nullptr;
  cuGetErrorString(static_cast<CUresult>(error), &text);
  return text == nullptr ? "unrecognized error code" : text;
}

const char* cudaGetErrorName(cudaError_t error) {
  const char* name = nullptr;
  cuGetErrorName(static_cast<CUresult>(error), &name);
  return name == nullptr ? "unrecognized error code" : name;
}

cudaError_t cudaGetDriverEntryPoint(const char* name, void** out, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
  const CUresult result = cuGetProcAddress(name, out, CUDART_VERSION, flags, &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  if (result != CUDA_SUCCESS) return finish(result);
  return finish(status == nullptr && *out == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS);
}
