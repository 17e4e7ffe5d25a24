// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Allocation and release of device and host memory.
#include "tests/sim/gpu/driver/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/gpu/driver/context.h"
#include "tests/sim/gpu/driver/visibility.h"

namespace emugpu {
namespace {

// As on a GPU: small allocations are cut from one 2 MiB page, at multiples of 512 bytes.
constexpr std::size_t kSmallBytes = std::size_t{1} << 20;
constexpr std::size_t kSmallUnit = 512;

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

int open_memory_file(MemoryKind kind, std::size_t bytes) {
  const char* name = kind == MemoryKind::kDevice ? "emugpu-device" : "emugpu-host";
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0) return fd;
  close(fd);
  return -1;
}

Memory& memory() {
  static Memory& only = *new Memory;
  return only;
}

Allocation* Memory::locate(std::uintptr_t address) {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  Allocation& candidate = std::prev(after)->second;
  return address - candidate.base < candidate.bytes ? &candidate : nullptr;
}

Block* Memory::locate_block(std::uintptr_t address) {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  Block& candidate = std::prev(after)->second;
  return candidate.holds(address, 0) ? &candidate : nullptr;
}

// Takes over the file, also when it fails.
Block* Memory::open_block(Block block) {
  block.base = addresses_.reserve(block.bytes);
  if (block.base == 0 ||
      !AddressSpace::map(block.base, block.bytes, block.fd, block.fd_offset, kReadWrite)) {
    addresses_.release(block.base);
    close(block.fd);
    return nullptr;
  }
  device_at(block.device)->used_bytes += block.bytes;
  return &(blocks_[block.base] = block);
}

Block* Memory::fresh_block(std::size_t bytes, int device) {
  const std::size_t pages = round_up(bytes, kPageBytes);
  if (device_at(device)->used_bytes + pages > settings().memory_bytes) return nullptr;
  const int fd = open_memory_file(MemoryKind::kDevice, pages);
  if (fd < 0) return nullptr;
  return open_block({.bytes = pages, .fd = fd, .device = device});
}

Block* Memory::small_block(std::size_t bytes, int device) {
  const auto filling = small_blocks_.find(device);
  if (filling != small_blocks_.end()) {
    Block& block = blocks_.at(filling->second);
    if (block.used + bytes <= block.bytes) return &block;
  }
  Block* block = fresh_block(kGpuPageBytes, device);
  if (block != nullptr) small_blocks_[device] = block->base;
  return block;
}

CUresult Memory::allocate_device(CUdeviceptr* out, std::size_t bytes, int device) {
  const bool small = bytes < kSmallBytes;
  const std::size_t room = round_up(bytes, kSmallUnit);
  const fabrail::MutexLock lock(mutex_);
  Block* block = small ? small_block(room, device) : fresh_block(bytes, device);
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uintptr_t base = block->base + block->used;
  block->used += room;
  ++block->allocations;
  allocations_[base] = {.base = base, .bytes = bytes, .device = device, .id = next_id_++};
  *out = base;
  return CUDA_SUCCESS;
}

CUresult Memory::adopt_device(CUdeviceptr* out, const Block& file, std::size_t offset,
                              std::size_t bytes) {
  const fabrail::MutexLock lock(mutex_);
  Block* block = open_block(file);
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  ++block->allocations;
  const std::uintptr_t base = block->base + offset;
  allocations_[base] = {.base = base, .bytes = bytes, .device = file.device, .id = next_id_++};
  *out = base;
  return CUDA_SUCCESS;
}

// Freed parts of a shared block stay mapped, as on a GPU, until all of it is free.
void Memory::drop_from(Block* block) {
  if (--block->allocations > 0) return;
  const auto filling = small_blocks_.find(block->device);
  if (filling != small_blocks_.end() && filling->second == block->base)
    small_blocks_.erase(filling);
  device_at(block->device)->used_bytes -= block->bytes;
  forget_writes(alias_of(reinterpret_cast<void*>(block->base)), block->bytes);
  close(block->fd);
  const std::uintptr_t base = block->base;
  blocks_.erase(base);
  addresses_.release(base);
}

CUresult Memory::free_device(CUdeviceptr address) {
  const fabrail::MutexLock lock(mutex_);
  const auto found = allocations_.find(address);
  if (found != allocations_.end() && found->second.managed)
    return remove_host(pointer(address), true, CUDA_ERROR_INVALID_VALUE);
  if (found == allocations_.end() || found->second.kind != MemoryKind::kDevice ||
      found->second.physical != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  allocations_.erase(found);
  drop_from(locate_block(address));
  return CUDA_SUCCESS;
}

CUresult Memory::add_host(Allocation allocation) {
  if (locate(allocation.base) != nullptr) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  allocation.kind = MemoryKind::kHost;
  allocation.id = next_id_++;
  allocations_[allocation.base] = allocation;
  return CUDA_SUCCESS;
}

CUresult Memory::map_host(std::size_t bytes, int device, bool managed, void** out) {
  *out = mmap(nullptr, round_up(bytes, kPageBytes), kReadWrite, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (*out == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const fabrail::MutexLock lock(mutex_);
  return add_host({.base = number(*out),
                   .bytes = bytes,
                   .device = device,
                   .host_owned = true,
                   .managed = managed});
}

CUresult Memory::allocate_host(void** out, std::size_t bytes, int device) {
  return map_host(bytes, device, false, out);
}

CUresult Memory::allocate_managed(CUdeviceptr* out, std::size_t bytes, int device) {
  void* base = nullptr;
  const CUresult result = map_host(bytes, device, true, &base);
  if (result == CUDA_SUCCESS) *out = device_pointer(base);
  return result;
}

CUresult Memory::register_host(void* base, std::size_t bytes, int device) {
  const fabrail::MutexLock lock(mutex_);
  return add_host({.base = number(base), .bytes = bytes, .device = device});
}

CUresult Memory::remove_host(void* base, bool owned, CUresult missing) {
  const auto found = allocations_.find(number(base));
  if (found == allocations_.end() || found->second.kind != MemoryKind::kHost ||
      found->second.physical != 0 || found->second.host_owned != owned) {
    return missing;
  }
  if (owned) munmap(base, round_up(found->second.bytes, kPageBytes));
  allocations_.erase(found);
  return CUDA_SUCCESS;
}

CUresult Memory::free_host(void* base) {
  const fabrail::MutexLock lock(mutex_);
  return remove_host(base, true, CUDA_ERROR_INVALID_VALUE);
}

CUresult Memory::unregister_host(void* base) {
  const fabrail::MutexLock lock(mutex_);
  return remove_host(base, false, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

std::optional<Allocation> Memory::find(const void* address) {
  const fabrail::MutexLock lock(mutex_);
  const Allocation* found = locate(number(address));
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<Block> Memory::find_block(const void* address, std::size_t bytes) {
  const fabrail::MutexLock lock(mutex_);
  const Block* found = locate_block(number(address));
  if (found == nullptr || !found->holds(number(address), bytes)) return std::nullopt;
  return *found;
}

bool Memory::is_for_nics(const Allocation& allocation) {
  if (allocation.kind != MemoryKind::kDevice) return false;
  if (allocation.physical == 0) return true;
  const auto physical = find_physical(allocation.physical);
  return physical && physical->properties.allocFlags.gpuDirectRDMACapable != 0;
}

CUresult Memory::set_sync_memops(const void* address, bool on) {
  const fabrail::MutexLock lock(mutex_);
  Allocation* found = locate(number(address));
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  found->sync_memops = on;
  return CUDA_SUCCESS;
}

}  // namespace emugpu
