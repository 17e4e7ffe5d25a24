// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Devices.
#include <cstring>

#include "tests/sim/gpu/runtime/runtime.h"

using namespace emugpu::runtime;

namespace {

int attribute(CUdevice_attribute which, int device) {
  int value = 0;
  cuDeviceGetAttribute(&value, which, device);
  return value;
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) { return forward(cuDeviceGetCount, count); }

cudaError_t cudaGetDevice(int* device) {
  *device = bound_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return finish(bind(device)); }

cudaError_t cudaDeviceSynchronize() { return forward(cuCtxSynchronize); }

cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSuccess; }

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return forward(cuDeviceGetAttribute, value, static_cast<CUdevice_attribute>(which), device);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return forward(cuDeviceGetPCIBusId, text, bytes, device);
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return forward(cuDeviceGetByPCIBusId, device, text);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return forward(cuDeviceCanAccessPeer, can, device, peer);
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return forward(cuCtxGetStreamPriorityRange, least, greatest);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const CUresult result = enter(); result != CUDA_SUCCESS) return finish(result);
  std::memset(properties, 0, sizeof *properties);
  const CUresult named = cuDeviceGetName(properties->name, sizeof properties->name, device);
  if (named != CUDA_SUCCESS) return finish(named);
  CUuuid uuid{};
  cuDeviceGetUuid(&uuid, device);
  std::memcpy(&properties->uuid, &uuid, sizeof uuid);
  cuDeviceTotalMem(&properties->totalGlobalMem, device);
  properties->major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  properties->minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  properties->warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
  properties->pciDomainID = attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, device);
  properties->pciBusID = attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
  properties->pciDeviceID = attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device);
  properties->multiProcessorCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  properties->maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
  properties->unifiedAddressing = 1;
  properties->canMapHostMemory = 1;
  return cudaSuccess;
}
