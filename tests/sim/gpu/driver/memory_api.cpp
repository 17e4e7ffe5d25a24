// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// cuMemAlloc and its kin: thin doors to the memory tables.
#include "tests/sim/gpu/driver/context.h"
#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/driver/memory.h"
#include "tests/sim/gpu/driver/settings.h"

using namespace emugpu;

CUresult cuMemAlloc(CUdeviceptr* out, std::size_t bytes) {
  trace(__func__);
  const Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return memory().allocate_device(out, bytes, context->device->ordinal);
}

CUresult cuMemFree(CUdeviceptr address) {
  trace(__func__);
  return address == 0 ? CUDA_SUCCESS : memory().free_device(address);
}

CUresult cuMemHostAlloc(void** out, std::size_t bytes, unsigned) {
  trace(__func__);
  const Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return memory().allocate_host(out, bytes, context->device->ordinal);
}

CUresult cuMemFreeHost(void* base) {
  trace(__func__);
  return memory().free_host(base);
}

CUresult cuMemAllocManaged(CUdeviceptr* out, std::size_t bytes, unsigned) {
  trace(__func__);
  const Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return memory().allocate_managed(out, bytes, context->device->ordinal);
}

CUresult cuMemHostRegister(void* base, std::size_t bytes, unsigned) {
  trace(__func__);
  const Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return memory().register_host(base, bytes, context->device->ordinal);
}

CUresult cuMemHostUnregister(void* base) {
  trace(__func__);
  return memory().unregister_host(base);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* out, void* address, unsigned) {
  trace(__func__);
  if (!memory().find(address)) return CUDA_ERROR_INVALID_VALUE;
  *out = device_pointer(address);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(std::size_t* available, std::size_t* total) {
  trace(__func__);
  const Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *total = settings().memory_bytes;
  *available = *total - context->device->used_bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  trace(__func__);
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto found = memory().find(pointer(address));
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = found->base;
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}
