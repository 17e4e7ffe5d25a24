// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Memory of a GPU for messages, through the CUDA driver that is installed or emulated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fabrail::cli::perf {

/// The memory of one GPU. What it gives is for NICs and kernels: the CPU must not touch it.
///
/// Every call that fails throws Failure with the driver's function and code.
/// Thread  any.
class GpuMemory {
 public:
  /// Opens the driver and a context on the GPU of that number; numbers beyond the last begin again.
  explicit GpuMemory(int device);
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  std::byte* allocate(size_t bytes) const;
  void release(std::byte* memory) const;
  void write(std::byte* to, const void* from, size_t bytes) const;
  /// As a kernel would see it: what no flush has made visible may be old.
  void read(void* to, const std::byte* from, size_t bytes) const;
  void fill(std::byte* to, std::byte value, size_t bytes) const;

  /// A dma-buf of a range, whose descriptor the caller closes, and where in it the range begins.
  struct Dmabuf {
    int fd = -1;
    size_t offset = 0;
  };
  Dmabuf export_dmabuf(const std::byte* address, size_t bytes) const;

 private:
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const;
  template <class... Arguments>
  void call_in_context(const char* name, Arguments... arguments) const;

  void* library_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace fabrail::cli::perf
