// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How others reach device memory: NICs by alias or dma-buf, processes by IPC handle.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "tests/sim/gpu/driver/context.h"
#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/faults.h"
#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/driver/memory.h"
#include "tests/sim/gpu/driver/settings.h"
#include "tests/sim/gpu/driver/visibility.h"
#include "tests/sim/gpu/emugpu.h"

using namespace emugpu;

namespace {

// A fresh open of the memfd, not a dup: dups share the file position, which says where in the file
// the exported range begins (a real dma-buf covers the range only).
int open_at(int fd, std::size_t position) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const int fresh = open(path, O_RDWR | O_CLOEXEC);
  if (fresh >= 0) lseek(fresh, static_cast<off_t>(position), SEEK_SET);
  return fresh;
}

bool page_aligned(CUdeviceptr address, std::size_t bytes) {
  return bytes > 0 && address % kPageBytes == 0 && bytes % kPageBytes == 0;
}

CUresult export_dmabuf(void* out, CUdeviceptr address, std::size_t bytes) {
  const auto allocation = memory().find(pointer(address));
  const auto block = memory().find_block(pointer(address), bytes);
  const bool exportable = block && (!allocation || memory().is_for_nics(*allocation));
  if (!exportable || !page_aligned(address, bytes)) {
    log(kLogRefusal, "dma-buf of [%#llx, +%zu): not whole pages of mapped device memory for NICs",
        address, bytes);
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int fd = open_at(block->fd, block->fd_offset + (address - block->base));
  if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(out) = fd;
  return CUDA_SUCCESS;
}

// What a CUipcMemHandle of ours says: the owner's file, and the allocation inside it.
struct IpcName {
  int process;
  int fd;
  std::size_t block_bytes;
  std::size_t offset;
  std::size_t bytes;
};
static_assert(sizeof(IpcName) <= sizeof(CUipcMemHandle));

}  // namespace

void* emugpu_alias(const void* address, std::size_t bytes) {
  if (!is_device_address(address)) return nullptr;
  if (!settings().peer_memory || strikes(Fault::kRegister)) return nullptr;
  const auto block = memory().find_block(address, bytes);
  const auto allocation = memory().find(address);
  if (!block || (allocation && !memory().is_for_nics(*allocation))) return nullptr;
  return alias_of(address);
}

void* emugpu_kernel_address(const void* address) { return alias_of(address); }

CUresult cuMemGetHandleForAddressRange(void* out, CUdeviceptr address, std::size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long) {
  trace(__func__);
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) return CUDA_ERROR_INVALID_VALUE;
  if (!settings().dmabuf || strikes(Fault::kExport)) return CUDA_ERROR_NOT_SUPPORTED;
  return export_dmabuf(out, address, bytes);
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  trace(__func__);
  const Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const bool by_host =
      (settings().flush_options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0;
  if (!by_host || strikes(Fault::kFlush)) return CUDA_ERROR_NOT_SUPPORTED;
  log(kLogLaunch, "driver flush of device %d, scope %d", context->device->ordinal,
      static_cast<int>(scope));
  make_writes_visible(context->device->ordinal);
  return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  trace(__func__);
  const auto allocation = memory().find(pointer(address));
  const auto block = memory().find_block(pointer(address), 1);
  if (!allocation || !block || allocation->kind != MemoryKind::kDevice ||
      allocation->physical != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const IpcName name{.process = getpid(),
                     .fd = block->fd,
                     .block_bytes = block->bytes,
                     .offset = allocation->base - block->base,
                     .bytes = allocation->bytes};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &name, sizeof name);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* out, CUipcMemHandle handle, unsigned) {
  trace(__func__);
  const Context* context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  IpcName name{};
  std::memcpy(&name, &handle, sizeof name);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", name.process, name.fd);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return CUDA_ERROR_INVALID_VALUE;
  const Block file{.bytes = name.block_bytes, .fd = fd, .device = context->device->ordinal};
  return memory().adopt_device(out, file, name.offset, name.bytes);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  trace(__func__);
  return memory().free_device(address);
}
