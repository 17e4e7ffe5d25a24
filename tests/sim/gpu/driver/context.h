// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Devices and the contexts that threads bind.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "tests/sim/gpu/driver/settings.h"

namespace emugpu {

struct Context;
struct Stream;

struct Device {
  int ordinal = 0;
  PciAddress pci;
  std::atomic<std::size_t> used_bytes{0};
  std::atomic<Context*> primary{nullptr};
  std::atomic<int> primary_references{0};
};

struct Context {
  Device* device = nullptr;
  Stream* null_stream = nullptr;   // guarded by the lock of all streams
  std::vector<Stream*> streams{};  // guarded by the lock of all streams
};

int device_count();
/// Null if there is no such device.
Device* device_at(int ordinal);

/// The calling thread's context, or null; null as well when the fault "context" strikes.
Context* current_context();

/// The primary context of a device; made on first use, never destroyed.
Context* primary_context(Device* device);

}  // namespace emugpu
