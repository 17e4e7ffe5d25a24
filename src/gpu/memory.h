// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What an address is to the CUDA driver, and device memory as a dma-buf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "src/gpu/driver.h"

namespace fabrail::gpu {

enum class MemoryKind : unsigned char {
  kHost,     ///< host memory, pinned or not; also what the driver does not know (any more)
  kDevice,   ///< memory of a GPU
  kManaged,  ///< moves between host and devices
};

/// The allocation, or the mapping of virtual memory management, that an address is in.
struct Memory {
  MemoryKind kind = MemoryKind::kHost;
  int device = -1;  ///< ordinal, for kDevice
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  bool vmm = false;        ///< mapped by cuMemMap: neighbours may belong to the same buffer
  bool gpudirect = false;  ///< NICs can be given it
};

/// Asks the driver what `address` is. Needs no context.
///
/// Errors  kSystem.   Source  cuPointerGetAttributes.
Result<Memory> classify(const Driver& driver, const void* address);

/// The memory of one device that holds all of [address, address + bytes): of several mappings, the
/// first with the length of all.
///
/// Errors  kInvalidArgument if it is host memory, freed, managed, longer than its allocation or of
/// several devices; kUnsupported if it was made so that NICs cannot reach it; kSystem.
Result<Memory> device_memory(const Driver& driver, const void* address, std::size_t bytes);

/// A dma-buf that holds a range of device memory. Closes its descriptor.
class Dmabuf {
 public:
  Dmabuf(int fd, std::uint64_t offset) : fd_(fd), offset_(offset) {}
  Dmabuf(Dmabuf&& other) noexcept : fd_(std::exchange(other.fd_, -1)), offset_(other.offset_) {}
  Dmabuf& operator=(Dmabuf&&) = delete;
  Dmabuf(const Dmabuf&) = delete;
  Dmabuf& operator=(const Dmabuf&) = delete;
  ~Dmabuf();

  [[nodiscard]] int fd() const { return fd_; }
  /// Where in the dma-buf the range begins.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  int fd_;
  std::uint64_t offset_;
};

/// Exports the whole host pages around [address, address + bytes). A NIC that has registered it no
/// longer needs the descriptor.
///
/// Errors  as device_memory(); kUnsupported if driver or GPU export none; kSystem.
/// Thread  any; a context is made current for the call.   Source  cuMemGetHandleForAddressRange.
Result<Dmabuf> export_dmabuf(const Driver& driver, const void* address, std::size_t bytes);

}  // namespace fabrail::gpu
