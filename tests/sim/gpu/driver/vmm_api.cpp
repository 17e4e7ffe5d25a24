// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// cuMemCreate, cuMemMap and their kin, with export to other processes by file descriptor.
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/driver/memory.h"

using namespace emugpu;

namespace {

// The kind of imported memory is known from the name that open_memory_file() gave it.
bool is_host_file(int fd) {
  char link[64];
  char name[PATH_MAX] = "";
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, name, sizeof name);
  if (length < 0) return false;
  const std::string_view text(name, static_cast<std::size_t>(length));
  return text.find("emugpu-host") != std::string_view::npos;
}

int rights_of(CUmemAccess_flags flags) {
  switch (flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      return PROT_READ | PROT_WRITE;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
      return PROT_READ;
    default:
      return PROT_NONE;
  }
}

// Host memory is mapped at its own address too, for the CPU; device memory at its alias only.
bool set_rights(const Allocation& a, CUdeviceptr address, std::size_t bytes,
                const CUmemAccessDesc& access) {
  const int rights = rights_of(access.flags);
  if (mprotect(alias_of(pointer(address)), bytes, rights) != 0) return false;
  const bool for_cpu =
      a.kind == MemoryKind::kHost && access.location.type != CU_MEM_LOCATION_TYPE_DEVICE;
  return !for_cpu || mprotect(pointer(address), bytes, rights) == 0;
}

}  // namespace

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  trace(__func__);
  *bytes = kGpuPageBytes;
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, std::size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long) {
  trace(__func__);
  if (bytes == 0 || bytes % kGpuPageBytes != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool on_device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const int fd = open_memory_file(on_device ? MemoryKind::kDevice : MemoryKind::kHost, bytes);
  if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = memory().add_physical({.fd = fd, .bytes = bytes, .properties = *properties});
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  trace(__func__);
  return memory().release_physical(handle);
}

CUresult cuMemAddressReserve(CUdeviceptr* out, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long) {
  trace(__func__);
  return memory().reserve(out, bytes);
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t) {
  trace(__func__);
  memory().release(address);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  trace(__func__);
  return memory().map(address, bytes, offset, handle);
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  trace(__func__);
  return memory().unmap(address, bytes);
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* accesses,
                        std::size_t count) {
  trace(__func__);
  const auto found = memory().find(pointer(address));
  if (!found || found->physical == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (!set_rights(*found, address, bytes, accesses[i])) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  trace(__func__);
  *out = memory().retain_physical(address);
  return *out == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* out,
                                                CUmemGenericAllocationHandle handle) {
  trace(__func__);
  const auto physical = memory().find_physical(handle);
  if (!physical) return CUDA_ERROR_INVALID_VALUE;
  *out = physical->properties;
  return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long) {
  trace(__func__);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const auto physical = memory().find_physical(handle);
  if (!physical) return CUDA_ERROR_INVALID_VALUE;
  const int fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(out) = fd;
  return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out, void* shared,
                                        CUmemAllocationHandleType type) {
  trace(__func__);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int theirs = static_cast<int>(reinterpret_cast<std::intptr_t>(shared));
  const int fd = fcntl(theirs, F_DUPFD_CLOEXEC, 0);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) return CUDA_ERROR_INVALID_VALUE;
  PhysicalMemory physical{.fd = fd, .bytes = static_cast<std::size_t>(status.st_size)};
  physical.properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  physical.properties.requestedHandleTypes = type;
  physical.properties.allocFlags.gpuDirectRDMACapable = 1;
  physical.properties.location.type =
      is_host_file(fd) ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE;
  *out = memory().add_physical(physical);
  return CUDA_SUCCESS;
}
