// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Memory: allocation, copies, pointers, IPC and stream-ordered pools.
#include <cstring>
#include <memory>

#include "tests/sim/gpu/runtime/runtime.h"

using namespace emugpu::runtime;

cudaError_t cudaMalloc(void** out, std::size_t bytes) {
  if (bytes == 0) {
    *out = nullptr;
    return cudaSuccess;
  }
  CUdeviceptr address = 0;
  const cudaError_t error = forward(cuMemAlloc, &address, bytes);
  if (error == cudaSuccess) *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  return error;
}

cudaError_t cudaFree(void* pointer) { return forward(cuMemFree, address_of(pointer)); }

cudaError_t cudaHostAlloc(void** out, std::size_t bytes, unsigned flags) {
  return forward(cuMemHostAlloc, out, bytes, flags);
}

cudaError_t cudaMallocHost(void** out, std::size_t bytes) { return cudaHostAlloc(out, bytes, 0); }

cudaError_t cudaFreeHost(void* pointer) {
  return pointer == nullptr ? cudaSuccess : forward(cuMemFreeHost, pointer);
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return forward(cuMemHostRegister, pointer, bytes, flags);
}

cudaError_t cudaHostUnregister(void* pointer) { return forward(cuMemHostUnregister, pointer); }

cudaError_t cudaHostGetDevicePointer(void** out, void* pointer, unsigned flags) {
  return forward(cuMemHostGetDevicePointer, reinterpret_cast<CUdeviceptr*>(out), pointer, flags);
}

cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  return forward(cuMemGetInfo, available, total);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return forward(cuMemcpy, address_of(to), address_of(from), bytes);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return forward(cuMemcpyAsync, address_of(to), address_of(from), bytes, stream);
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return forward(cuMemsetD8, address_of(to), static_cast<unsigned char>(value), bytes);
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return forward(cuMemsetD8Async, address_of(to), static_cast<unsigned char>(value), bytes, stream);
}

namespace {

cudaMemoryType type_of(unsigned driver_type) {
  if (driver_type == CU_MEMORYTYPE_DEVICE) return cudaMemoryTypeDevice;
  return driver_type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
}

}  // namespace

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* pointer) {
  unsigned type = 0;
  int device = 0;
  void* on_device = nullptr;
  void* on_host = nullptr;
  CUpointer_attribute which[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* values[] = {&type, &device, &on_device, &on_host};
  const cudaError_t error = forward(cuPointerGetAttributes, 4U, which, values, address_of(pointer));
  if (error != cudaSuccess) return error;
  std::memset(out, 0, sizeof *out);
  out->type = type_of(type);
  out->device = device;
  out->devicePointer = on_device;
  out->hostPointer = type == 0 ? const_cast<void*>(pointer) : on_host;
  return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return forward(cuIpcGetMemHandle, reinterpret_cast<CUipcMemHandle*>(handle), address_of(pointer));
}

cudaError_t cudaIpcOpenMemHandle(void** out, cudaIpcMemHandle_t handle, unsigned flags) {
  CUipcMemHandle same{};
  static_assert(sizeof same == sizeof handle);
  std::memcpy(&same, &handle, sizeof same);
  return forward(cuIpcOpenMemHandle, reinterpret_cast<CUdeviceptr*>(out), same, flags);
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return forward(cuIpcCloseMemHandle, address_of(pointer));
}

// Pools: memory is allocated at once, and freed when the stream gets there.
namespace {
struct Pool {};
}  // namespace

cudaError_t cudaMemPoolCreate(cudaMemPool_t* out, const cudaMemPoolProps*) {
  *out = reinterpret_cast<cudaMemPool_t>(std::make_unique<Pool>().release());
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const std::unique_ptr<Pool> owner(reinterpret_cast<Pool*>(pool));
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }

cudaError_t cudaMallocFromPoolAsync(void** out, std::size_t bytes, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(out, bytes);
}

cudaError_t cudaMallocAsync(void** out, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(out, bytes);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  const CUhostFn free = [](void* later) { cuMemFree(address_of(later)); };
  return forward(cuLaunchHostFunc, stream, free, pointer);
}
