// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A first-fit list over one large reservation that costs no memory until something is mapped.
#include "tests/sim/gpu/driver/address_space.h"

#include <sys/mman.h>

#include <atomic>
#include <iterator>

#include "tests/sim/gpu/driver/log.h"

namespace emugpu {
namespace {

constexpr int kNothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// Until the window is open this matches no pointer that a program can have.
constexpr std::uintptr_t kClosed = std::uintptr_t{1} << 63;
std::atomic<std::uintptr_t> g_window{kClosed};

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

bool is_device_address(const void* address) {
  const auto window = g_window.load(std::memory_order_relaxed);
  return reinterpret_cast<std::uintptr_t>(address) - window < kWindowBytes;
}

void* alias_of(const void* address) {
  auto plain = reinterpret_cast<std::uintptr_t>(address);
  return at(is_device_address(address) ? plain + kWindowBytes : plain);
}

bool AddressSpace::open_window() {
  const std::size_t bytes = 2 * kWindowBytes + kGpuPageBytes;
  void* window = mmap(nullptr, bytes, PROT_NONE, kNothing, -1, 0);
  if (window == MAP_FAILED) {
    log(kLogError, "cannot reserve %zu bytes of address space (ulimit -v?)", bytes);
    return false;
  }
  madvise(window, bytes, MADV_DONTDUMP);
  const std::uintptr_t base = round_up(reinterpret_cast<std::uintptr_t>(window), kGpuPageBytes);
  free_[base] = kWindowBytes;
  g_window = base;
  return true;
}

std::uintptr_t AddressSpace::reserve(std::size_t bytes) {
  if (g_window == kClosed && !open_window()) return 0;
  const std::size_t needed = round_up(bytes, kGpuPageBytes) + kGpuPageBytes;
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    const auto [piece, room] = *hole;
    if (room < needed) continue;
    free_.erase(hole);
    if (room > needed) free_[piece + needed] = room - needed;
    reserved_[piece] = needed;
    return piece;
  }
  return 0;
}

void AddressSpace::release(std::uintptr_t piece) {
  const auto found = reserved_.find(piece);
  if (found == reserved_.end()) return;
  const std::size_t bytes = found->second;
  reserved_.erase(found);
  unmap(piece, bytes);
  free_[piece] = bytes;
  join_neighbours(piece);
}

void AddressSpace::join_neighbours(std::uintptr_t piece) {
  auto here = free_.find(piece);
  const auto next = std::next(here);
  if (next != free_.end() && here->first + here->second == next->first) {
    here->second += next->second;
    free_.erase(next);
  }
  if (here == free_.begin()) return;
  const auto previous = std::prev(here);
  if (previous->first + previous->second != here->first) return;
  previous->second += here->second;
  free_.erase(here);
}

bool AddressSpace::map(std::uintptr_t address, std::size_t bytes, int fd, std::size_t fd_offset,
                       int alias_rights) {
  const auto offset = static_cast<off_t>(fd_offset);
  const int flags = MAP_SHARED | MAP_FIXED;
  return mmap(at(address), bytes, PROT_NONE, flags, fd, offset) != MAP_FAILED &&
         mmap(at(address + kWindowBytes), bytes, alias_rights, flags, fd, offset) != MAP_FAILED;
}

void AddressSpace::unmap(std::uintptr_t address, std::size_t bytes) {
  for (const std::uintptr_t view : {address, address + kWindowBytes}) {
    mmap(at(view), bytes, PROT_NONE, kNothing | MAP_FIXED, -1, 0);
  }
}

}  // namespace emugpu
