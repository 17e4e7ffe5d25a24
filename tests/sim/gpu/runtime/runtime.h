// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The runtime's own state: the calling thread's device and last error. Everything else is the
// driver's, through its public functions.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <cstdint>

namespace emugpu::runtime {

/// Notes an error for cudaGetLastError; "not ready" is none. The numbers of both APIs are equal.
cudaError_t finish(CUresult result);

/// Says on standard error that a function is not emulated, and fails.
cudaError_t refuse(const char* function);

/// Initializes the driver and binds the thread's context: the current one, or else the primary one
/// of the thread's device.
CUresult enter();

/// Binds the primary context of a device and makes it the thread's.
CUresult bind(int device);
int bound_device();

/// Enters, calls, and notes the error: what most runtime functions are.
template <typename Function, typename... Arguments>
cudaError_t forward(Function* function, Arguments... arguments) {
  const CUresult entered = enter();
  return finish(entered != CUDA_SUCCESS ? entered : function(arguments...));
}

inline CUdeviceptr address_of(const void* pointer) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace emugpu::runtime
