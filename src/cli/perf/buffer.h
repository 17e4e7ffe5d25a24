// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Page-aligned memory for messages.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <utility>

#include "src/cli/common/failure.h"
#include "src/cli/perf/gpu_memory.h"

namespace fabrail::cli::perf {

/// Zeroed, page-aligned, of a fixed address for its life. Never empty, so that it can always be
/// registered.
class Buffer {
 public:
  /// `gpu`  whose memory it is, and which outlives it; null: the host's.
  explicit Buffer(size_t bytes, const GpuMemory* gpu = nullptr)
      : bytes_(bytes == 0 ? 1 : bytes), gpu_(gpu) {
    if (gpu_ != nullptr) {
      address_ = gpu_->allocate(bytes_);
      gpu_->fill(address_, std::byte{0}, bytes_);
      return;
    }
    void* address = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (address == MAP_FAILED) {
      throw Failure("cannot allocate " + std::to_string(bytes_) +
                    " bytes for messages; use smaller sizes (-e) or a smaller --depth");
    }
    address_ = static_cast<std::byte*>(address);
  }
  Buffer(Buffer&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_), gpu_(other.gpu_) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (address_ == nullptr) return;
    if (gpu_ == nullptr) {
      munmap(address_, bytes_);
      return;
    }
    try {
      gpu_->release(address_);
    } catch (const Failure&) {
      // Another failure is on its way, and the memory goes with the process.
    }
  }

  std::byte* data() const { return address_; }
  size_t size() const { return bytes_; }
  const GpuMemory* gpu() const { return gpu_; }

 private:
  std::byte* address_ = nullptr;
  size_t bytes_;
  const GpuMemory* gpu_;
};

}  // namespace fabrail::cli::perf
