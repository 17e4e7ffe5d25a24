// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The addresses of device memory. One reservation holds two views of the same bytes: device
// addresses in its lower half, which the CPU may not touch, and their aliases in the upper half,
// for emulated kernels, copies and NICs. An alias is the device address plus a constant.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>

namespace emugpu {

inline constexpr std::size_t kWindowBytes = std::size_t{256} << 30;
inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kGpuPageBytes = std::size_t{2} << 20;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

bool is_device_address(const void* address);

/// Where the CPU reaches what `address` points to. Host pointers come back unchanged.
void* alias_of(const void* address);

/// Hands out pieces of the window. Thread  none of its own; the memory tables' mutex guards it.
class AddressSpace {
 public:
  /// A piece aligned to 2 MiB, with an unusable gap behind it; 0 if there is no room.
  std::uintptr_t reserve(std::size_t bytes);
  /// Gives back what reserve() returned; both views become unusable.
  void release(std::uintptr_t piece);

  /// Maps a file at an address and at its alias, with different rights.  Errors  false: see errno.
  static bool map(std::uintptr_t address, std::size_t bytes, int fd, std::size_t fd_offset,
                  int alias_rights);
  /// Back to an unusable reservation.
  static void unmap(std::uintptr_t address, std::size_t bytes);

 private:
  bool open_window();
  void join_neighbours(std::uintptr_t piece);

  std::map<std::uintptr_t, std::size_t> free_;
  std::map<std::uintptr_t, std::size_t> reserved_;
};

}  // namespace emugpu
