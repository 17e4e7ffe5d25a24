// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which addresses are a GPU's.
#include "tests/conformance/device.h"

#include <iterator>
#include <map>
#include <mutex>

namespace fabrail::conformance::device {
namespace {

std::mutex mutex;
std::map<const std::byte*, size_t>& allocations() {
  static std::map<const std::byte*, size_t> all;
  return all;
}

}  // namespace

const cli::perf::GpuMemory& gpu() {
  static const cli::perf::GpuMemory first(0);
  return first;
}

std::byte* allocate(size_t bytes) {
  std::byte* const memory = gpu().allocate(bytes);
  const std::lock_guard lock(mutex);
  allocations()[memory] = bytes;
  return memory;
}

void release(std::byte* memory) {
  gpu().release(memory);
  const std::lock_guard lock(mutex);
  allocations().erase(memory);
}

bool holds(const void* address) {
  const auto* const byte = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mutex);
  const auto after = allocations().upper_bound(byte);
  if (after == allocations().begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return byte < begin + bytes;
}

}  // namespace fabrail::conformance::device
