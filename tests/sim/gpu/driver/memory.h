// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The tables of device and host memory that the driver knows. A block is one mapping of one memfd;
// an allocation is what a caller was given: small ones share a block, as they share a page on a
// GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "src/base/mutex.h"
#include "tests/sim/gpu/driver/address_space.h"
#include "tests/sim/gpu/driver/cuda_public.h"

namespace emugpu {

enum class MemoryKind { kDevice, kHost };

struct Block {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  int fd = -1;
  std::size_t fd_offset = 0;
  int device = 0;
  int allocations = 0;
  std::size_t used = 0;  ///< how far small allocations have filled it

  [[nodiscard]] bool holds(std::uintptr_t address, std::size_t length) const {
    return address >= base && length <= bytes && address - base <= bytes - length;
  }
};

/// Physical memory of the virtual memory management functions.
struct PhysicalMemory {
  int fd = -1;
  std::size_t bytes = 0;
  CUmemAllocationProp properties{};
  int references = 1;
};

struct Allocation {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
  int device = 0;
  std::uint64_t id = 0;
  std::uint64_t physical = 0;  ///< key of its PhysicalMemory; 0: not mapped by cuMemMap
  bool host_owned = false;     ///< allocated by the driver, not registered with it
  bool managed = false;        ///< host memory here, for the device to move as it likes
  bool sync_memops = false;
};

/// Creates the file behind device or host memory; its name tells an importing process the kind.
/// Errors  -1.
int open_memory_file(MemoryKind kind, std::size_t bytes);

/// All memory of this process. Never destroyed. Thread  any.
class Memory {
 public:
  CUresult allocate_device(CUdeviceptr* out, std::size_t bytes, int device) EXCLUDES(mutex_);
  /// Maps a file of another process, and returns the address of one allocation inside.
  CUresult adopt_device(CUdeviceptr* out, const Block& file, std::size_t offset, std::size_t bytes)
      EXCLUDES(mutex_);
  CUresult free_device(CUdeviceptr address) EXCLUDES(mutex_);

  CUresult allocate_host(void** out, std::size_t bytes, int device) EXCLUDES(mutex_);
  CUresult allocate_managed(CUdeviceptr* out, std::size_t bytes, int device) EXCLUDES(mutex_);
  CUresult register_host(void* base, std::size_t bytes, int device) EXCLUDES(mutex_);
  CUresult free_host(void* base) EXCLUDES(mutex_);
  CUresult unregister_host(void* base) EXCLUDES(mutex_);

  std::optional<Allocation> find(const void* address) EXCLUDES(mutex_);
  /// The block that holds all of [address, address + bytes).
  std::optional<Block> find_block(const void* address, std::size_t bytes) EXCLUDES(mutex_);
  /// Whether NICs may be given this allocation: what cuMemCreate made says so itself.
  bool is_for_nics(const Allocation& allocation) EXCLUDES(mutex_);
  CUresult set_sync_memops(const void* address, bool on) EXCLUDES(mutex_);

  CUresult reserve(CUdeviceptr* out, std::size_t bytes) EXCLUDES(mutex_);
  void release(CUdeviceptr address) EXCLUDES(mutex_);
  std::uint64_t add_physical(const PhysicalMemory& physical) EXCLUDES(mutex_);
  std::optional<PhysicalMemory> find_physical(std::uint64_t key) EXCLUDES(mutex_);
  CUresult release_physical(std::uint64_t key) EXCLUDES(mutex_);
  /// The key of the physical memory mapped at an address, with one more reference; 0 if none.
  std::uint64_t retain_physical(const void* address) EXCLUDES(mutex_);
  CUresult map(CUdeviceptr address, std::size_t bytes, std::size_t offset, std::uint64_t key)
      EXCLUDES(mutex_);
  CUresult unmap(CUdeviceptr address, std::size_t bytes) EXCLUDES(mutex_);

 private:
  Allocation* locate(std::uintptr_t address) REQUIRES(mutex_);
  Block* locate_block(std::uintptr_t address) REQUIRES(mutex_);
  Block* open_block(Block block) REQUIRES(mutex_);
  Block* small_block(std::size_t bytes, int device) REQUIRES(mutex_);
  Block* fresh_block(std::size_t bytes, int device) REQUIRES(mutex_);
  void drop_from(Block* block) REQUIRES(mutex_);
  void unreference(std::uint64_t key) REQUIRES(mutex_);
  CUresult add_host(Allocation allocation) REQUIRES(mutex_);
  CUresult map_host(std::size_t bytes, int device, bool managed, void** out) EXCLUDES(mutex_);
  CUresult remove_host(void* base, bool owned, CUresult missing) REQUIRES(mutex_);

  fabrail::Mutex mutex_;
  AddressSpace addresses_ GUARDED_BY(mutex_);
  std::map<std::uintptr_t, Allocation> allocations_ GUARDED_BY(mutex_);
  std::map<std::uintptr_t, Block> blocks_ GUARDED_BY(mutex_);
  std::map<int, std::uintptr_t> small_blocks_ GUARDED_BY(mutex_);  // being filled, by device
  std::map<std::uint64_t, PhysicalMemory> physical_ GUARDED_BY(mutex_);
  std::uint64_t next_id_ GUARDED_BY(mutex_) = 1;
};

Memory& memory();

}  // namespace emugpu
