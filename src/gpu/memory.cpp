// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/gpu/memory.h"

#include <unistd.h>

#include <cstdio>

#include "src/gpu/context.h"

namespace fabrail::gpu {

namespace {

cuda::Address address_of(const void* pointer) {
  return static_cast<cuda::Address>(reinterpret_cast<std::uintptr_t>(pointer));
}

void* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): a device address
}

std::string range_text(const void* address, std::size_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%zu bytes at %p", bytes, address);
  return text;
}

// Only memory that cuMemMap mapped has an allocation handle.
bool is_vmm(const Functions& functions, const void* address) {
  cuda::AllocationHandle handle = 0;
  if (functions.retain_handle(&handle, pointer_to(reinterpret_cast<std::uintptr_t>(address))) !=
      cuda::kSuccess) {
    return false;
  }
  functions.release_handle(handle);
  return true;
}

Error not_device_memory(const Memory& memory, const std::string& range) {
  const char* what =
      memory.kind == MemoryKind::kManaged
          ? "managed memory, which moves between host and devices: NICs need cudaMalloc's"
          : "not device memory, as far as CUDA knows: host memory, or freed already?";
  return make_error(Code::kInvalidArgument, 0, "%s: %s", range.c_str(), what);
}

Error beyond_allocation(const Memory& memory, const std::string& range) {
  return make_error(Code::kInvalidArgument, 0,
                    "%s: the allocation at %p on device %d ends after %zu bytes", range.c_str(),
                    pointer_to(memory.base), memory.device, memory.bytes);
}

Error not_for_nics(const Memory& memory, const std::string& range) {
  const char* advice = memory.vmm ? ". Memory of cuMemCreate needs gpuDirectRDMACapable" : "";
  return make_error(Code::kUnsupported, 0,
                    "%s: device %d does not let NICs reach this memory (not GPUDirect RDMA "
                    "capable)%s",
                    range.c_str(), memory.device, advice);
}

// Whether `next` continues the buffer that `memory` begins.
bool continues(const Memory& memory, const Memory& next) {
  return memory.vmm && next.vmm && next.kind == MemoryKind::kDevice &&
         next.device == memory.device && next.base == memory.base + memory.bytes;
}

// Host pages: a dma-buf is made of them.
std::uintptr_t page_bytes() { return static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)); }

Status can_export(const Driver& driver, int device) {
  if (driver.functions().get_handle == nullptr) {
    return make_error(
        Code::kUnsupported, 0,
        "the CUDA driver (CUDA %s) exports no dma-buf; CUDA %s is the first that does",
        cuda_version_text(driver.version()).c_str(),
        cuda_version_text(cuda::kOldestDriverDmabuf).c_str());
  }
  FR_TRY_ASSIGN(const auto facts, driver.device(device));
  if (facts.dmabuf) return {};
  return make_error(Code::kUnsupported, 0,
                    "device %d exports no dma-buf: that takes NVIDIA's open kernel modules and "
                    "Linux 5.12",
                    device);
}

}  // namespace

Result<Memory> classify(const Driver& driver, const void* address) {
  unsigned type = 0;
  unsigned char managed = 0;
  int device = -1;
  cuda::Address base = 0;
  std::size_t bytes = 0;
  unsigned char gpudirect = 0;
  using enum cuda::PointerAttribute;
  cuda::PointerAttribute attributes[] = {kMemoryType, kIsManaged, kDeviceOrdinal,
                                         kRangeStart, kRangeSize, kIsGpuDirectCapable};
  void* values[] = {&type, &managed, &device, &base, &bytes, &gpudirect};
  // Succeeds for any address: of one that the driver does not know, all values are 0.
  const cuda::Code code = driver.functions().pointer_attributes(std::size(attributes), attributes,
                                                                values, address_of(address));
  if (code != cuda::kSuccess)
    return driver.failure("cuPointerGetAttributes", code, range_text(address, 1));
  Memory memory;
  if (managed != 0) memory.kind = MemoryKind::kManaged;
  if (managed != 0 || type != cuda::kMemoryTypeDevice) return memory;
  memory.kind = MemoryKind::kDevice;
  memory.device = device;
  memory.base = static_cast<std::uintptr_t>(base);
  memory.bytes = bytes;
  memory.vmm = is_vmm(driver.functions(), address);
  memory.gpudirect = gpudirect != 0;
  return memory;
}

Result<Memory> device_memory(const Driver& driver, const void* address, std::size_t bytes) {
  const std::string range = range_text(address, bytes);
  FR_TRY_ASSIGN(Memory memory, classify(driver, address));
  if (memory.kind != MemoryKind::kDevice) return not_device_memory(memory, range);
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - memory.base;
  while (bytes > memory.bytes - offset) {
    FR_TRY_ASSIGN(const Memory next, classify(driver, pointer_to(memory.base + memory.bytes)));
    if (!continues(memory, next)) return beyond_allocation(memory, range);
    memory.bytes += next.bytes;
    memory.gpudirect = memory.gpudirect && next.gpudirect;
  }
  if (!memory.gpudirect) return not_for_nics(memory, range);
  return memory;
}

Dmabuf::~Dmabuf() {
  if (fd_ >= 0) close(fd_);
}

Result<Dmabuf> export_dmabuf(const Driver& driver, const void* address, std::size_t bytes) {
  FR_TRY_ASSIGN(const Memory memory, device_memory(driver, address, bytes));
  FR_TRY(can_export(driver, memory.device));
  const std::uintptr_t page = page_bytes();
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t first = start / page * page;
  const std::uintptr_t last = (start + bytes + page - 1) / page * page;
  FR_TRY_ASSIGN(const auto context, ContextScope::enter(driver, memory.device));
  int fd = -1;
  const cuda::Code code =
      driver.functions().get_handle(&fd, first, last - first, cuda::kDmabufHandle, 0);
  if (code == cuda::kSuccess) return Dmabuf(fd, start - first);
  return driver.failure("cuMemGetHandleForAddressRange", code,
                        range_text(address, bytes) + " (dma-buf)");
}

}  // namespace fabrail::gpu
