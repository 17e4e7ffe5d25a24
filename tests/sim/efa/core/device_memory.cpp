// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Two function pointers, set when the GPU's driver is found, read by every mover of bytes.
#include "tests/sim/efa/core/device_memory.h"

#include <atomic>

namespace fabrail::sim {
namespace {

std::atomic<DeviceMemoryCall> g_wrote{nullptr};
std::atomic<DeviceMemoryCall> g_read{nullptr};

void tell(const std::atomic<DeviceMemoryCall>& call, const Nic& nic, uint64_t address,
          size_t bytes) {
  const DeviceMemoryCall known = call.load(std::memory_order_acquire);
  if (known != nullptr) known(nic.address.packed(), reinterpret_cast<const void*>(address), bytes);
}

}  // namespace

void connect_device_memory(DeviceMemoryCall wrote, DeviceMemoryCall read) {
  g_wrote.store(wrote, std::memory_order_release);
  g_read.store(read, std::memory_order_release);
}

void tell_written(const Nic& nic, uint64_t address, size_t bytes) {
  tell(g_wrote, nic, address, bytes);
}

void tell_reading(const Nic& nic, uint64_t address, size_t bytes) {
  tell(g_read, nic, address, bytes);
}

}  // namespace fabrail::sim
