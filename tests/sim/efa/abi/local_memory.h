// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// What a NIC may reach in this process: pinnable memory, device memory of the emulated GPU,
// dma-bufs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fabrail::sim {

/// The CPU-visible second mapping of device memory, if a loaded libcuda.so.1 is the emulated one
/// and owns the address; else null. Never loads a driver.
void* gpu_alias(const void* address, size_t bytes);

/// False for memory that a kernel could not pin: unmapped or without access.
bool is_pinnable(const void* address, size_t bytes);

/// A mapping of a dma-buf, or of the memfd that stands for one.
struct DmabufMapping {
  void* base = nullptr;  // null: errno says why
  size_t mapped_bytes = 0;
  void* address = nullptr;  // of the requested offset
};
DmabufMapping map_dmabuf(int fd, uint64_t offset, size_t bytes);

}  // namespace fabrail::sim
