// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Virtual memory management: physical memory by key, mapped into reserved addresses. What cuMemMap
// maps is unusable until cuMemSetAccess.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/gpu/driver/memory.h"
#include "tests/sim/gpu/driver/visibility.h"

namespace emugpu {

CUresult Memory::reserve(CUdeviceptr* out, std::size_t bytes) {
  const fabrail::MutexLock lock(mutex_);
  *out = addresses_.reserve(bytes);
  return *out == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

void Memory::release(CUdeviceptr address) {
  const fabrail::MutexLock lock(mutex_);
  addresses_.release(address);
}

std::uint64_t Memory::add_physical(const PhysicalMemory& physical) {
  const fabrail::MutexLock lock(mutex_);
  const std::uint64_t key = next_id_++;
  physical_[key] = physical;
  return key;
}

std::optional<PhysicalMemory> Memory::find_physical(std::uint64_t key) {
  const fabrail::MutexLock lock(mutex_);
  const auto found = physical_.find(key);
  return found == physical_.end() ? std::nullopt : std::optional(found->second);
}

void Memory::unreference(std::uint64_t key) {
  PhysicalMemory& physical = physical_.at(key);
  if (--physical.references > 0) return;
  close(physical.fd);
  physical_.erase(key);
}

CUresult Memory::release_physical(std::uint64_t key) {
  const fabrail::MutexLock lock(mutex_);
  if (!physical_.contains(key)) return CUDA_ERROR_INVALID_VALUE;
  unreference(key);
  return CUDA_SUCCESS;
}

std::uint64_t Memory::retain_physical(const void* address) {
  const fabrail::MutexLock lock(mutex_);
  const Allocation* found = locate(reinterpret_cast<std::uintptr_t>(address));
  if (found == nullptr || found->physical == 0) return 0;
  ++physical_.at(found->physical).references;
  return found->physical;
}

CUresult Memory::map(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                     std::uint64_t key) {
  const fabrail::MutexLock lock(mutex_);
  const auto found = physical_.find(key);
  if (found == physical_.end() || !is_device_address(pointer(address)) ||
      offset + bytes > found->second.bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  PhysicalMemory& physical = found->second;
  if (!AddressSpace::map(address, bytes, physical.fd, offset, PROT_NONE)) {
    return CUDA_ERROR_MAP_FAILED;
  }
  ++physical.references;
  const CUmemLocation& place = physical.properties.location;
  const bool on_device = place.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const int device = on_device ? place.id : 0;
  allocations_[address] = {.base = address,
                           .bytes = bytes,
                           .kind = on_device ? MemoryKind::kDevice : MemoryKind::kHost,
                           .device = device,
                           .id = next_id_++,
                           .physical = key};
  blocks_[address] = {.base = address,
                      .bytes = bytes,
                      .fd = physical.fd,
                      .fd_offset = offset,
                      .device = device,
                      .allocations = 1,
                      .used = bytes};
  return CUDA_SUCCESS;
}

CUresult Memory::unmap(CUdeviceptr address, std::size_t bytes) {
  const fabrail::MutexLock lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end() || found->second.physical == 0) return CUDA_ERROR_INVALID_VALUE;
  forget_writes(alias_of(pointer(address)), bytes);
  AddressSpace::unmap(address, bytes);
  unreference(found->second.physical);
  blocks_.erase(address);
  allocations_.erase(found);
  return CUDA_SUCCESS;
}

}  // namespace emugpu
