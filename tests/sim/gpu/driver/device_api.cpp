// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// cuInit, the driver's version, errors and devices.
#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/sim/gpu/driver/context.h"
#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/faults.h"
#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/driver/settings.h"

using namespace emugpu;

namespace {

// {name of the constant, what people read}, for the codes that the emulated driver returns.
struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_MAP_FAILED, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {CUDA_ERROR_OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

const ErrorText* find_error(CUresult code) {
  for (const ErrorText& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

// What is the same on every emulated device. Attributes that are in no list read as 0: multicast
// (NVLS) and the like are not there.
constexpr std::pair<CUdevice_attribute, int> kFixedAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1500000},
};

int fixed_attribute(CUdevice_attribute attribute) {
  for (const auto& [known, value] : kFixedAttributes) {
    if (known == attribute) return value;
  }
  return 0;
}

int attribute_of(const Device& device, CUdevice_attribute attribute) {
  const Settings& s = settings();
  const bool hopper = s.compute_capability.major >= 9;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return s.compute_capability.major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return s.compute_capability.minor;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
      return static_cast<int>(device.pci.domain);
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return static_cast<int>(device.pci.bus);
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
      return static_cast<int>(device.pci.device);
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
      return s.gpudirect ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
      return s.dmabuf ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
      return s.flush_options;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
      return s.writes_ordering;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
      return hopper ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT:
      return hopper ? 4 : 1;
    default:
      return fixed_attribute(attribute);
  }
}

}  // namespace

CUresult cuInit(unsigned) {
  trace(__func__);
  return strikes(Fault::kInit) || device_count() == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  trace(__func__);
  *version = settings().driver_version;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult code, const char** name) {
  const ErrorText* error = find_error(code);
  *name = error == nullptr ? nullptr : error->name;
  return error == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult code, const char** text) {
  const ErrorText* error = find_error(code);
  *text = error == nullptr ? nullptr : error->text;
  return error == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  trace(__func__);
  *count = device_count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  trace(__func__);
  if (device_at(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *out = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice ordinal) {
  trace(__func__);
  if (device_at(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<std::size_t>(bytes), "Emulated GPU %d", ordinal);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice ordinal) {
  trace(__func__);
  if (device_at(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = settings().memory_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  trace(__func__);
  const Device* device = device_at(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::memset(uuid, 0, sizeof *uuid);
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "emu%04x:%02x:%02x", device->pci.domain & 0xffff,
                device->pci.bus & 0xff, device->pci.device & 0xff);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice ordinal) {
  trace(__func__);
  const Device* device = device_at(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(text, static_cast<std::size_t>(bytes), "%04x:%02x:%02x.0", device->pci.domain,
                device->pci.bus, device->pci.device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* text) {
  trace(__func__);
  PciAddress address;
  if (!parse_pci_address(text, &address)) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < device_count(); ++i) {
    if (device_at(i)->pci != address) continue;
    *out = i;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice from, CUdevice to) {
  trace(__func__);
  *can = from != to ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  trace(__func__);
  const Device* device = device_at(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute_of(*device, attribute);
  return CUDA_SUCCESS;
}
