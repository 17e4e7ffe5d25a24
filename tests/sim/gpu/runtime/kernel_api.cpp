// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Kernels: what a host symbol launches, and its attributes.
#include <cstring>
#include <map>
#include <mutex>

#include "tests/sim/gpu/emugpu.h"
#include "tests/sim/gpu/runtime/emugpu_runtime.h"
#include "tests/sim/gpu/runtime/runtime.h"

using namespace emugpu::runtime;

namespace {

struct Bindings {
  std::mutex mutex;
  std::map<const void*, CUfunction> functions;
};
Bindings& bindings() {
  static Bindings& only = *new Bindings;
  return only;
}

CUresult find(const void* symbol, CUfunction* out) {
  Bindings& all = bindings();
  const std::lock_guard lock(all.mutex);
  const auto found = all.functions.find(symbol);
  if (found == all.functions.end()) return CUDA_ERROR_INVALID_HANDLE;
  *out = found->second;
  return CUDA_SUCCESS;
}

int attribute(CUfunction function, CUfunction_attribute which) {
  int value = 0;
  cuFuncGetAttribute(&value, which, function);
  return value;
}

}  // namespace

int emugpu_bind_kernel(const void* symbol, const char* name) {
  void* function = emugpu_find_kernel(name);
  if (function == nullptr) return -1;
  Bindings& all = bindings();
  const std::lock_guard lock(all.mutex);
  all.functions[symbol] = static_cast<CUfunction>(function);
  return 0;
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* out, const void* symbol) {
  return finish(find(symbol, out));
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* symbol) {
  CUfunction function = nullptr;
  if (const CUresult result = find(symbol, &function); result != CUDA_SUCCESS) {
    return finish(result);
  }
  std::memset(out, 0, sizeof *out);
  out->maxThreadsPerBlock = attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out->numRegs = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  out->ptxVersion = attribute(function, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  out->binaryVersion = attribute(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  out->maxDynamicSharedSizeBytes =
      attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* symbol, cudaFuncAttribute which, int value) {
  CUfunction function = nullptr;
  if (const CUresult result = find(symbol, &function); result != CUDA_SUCCESS) {
    return finish(result);
  }
  return forward(cuFuncSetAttribute, function, static_cast<CUfunction_attribute>(which), value);
}

cudaError_t cudaLaunchKernel(const void* symbol, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t shared_bytes, cudaStream_t stream) {
  CUfunction function = nullptr;
  if (const CUresult result = find(symbol, &function); result != CUDA_SUCCESS) {
    return finish(result);
  }
  return forward(cuLaunchKernel, function, blocks.x, blocks.y, blocks.z, threads.x, threads.y,
                 threads.z, static_cast<unsigned>(shared_bytes), stream, arguments,
                 static_cast<void**>(nullptr));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* symbol,
                                void** arguments) {
  return cudaLaunchKernel(symbol, config->gridDim, config->blockDim, arguments,
                          config->dynamicSmemBytes, config->stream);
}
