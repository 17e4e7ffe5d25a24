// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One emulated NIC and one emulated GPU of this process, and what a test does with memory of the
// one on the other.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "src/fabric/device_probe.h"
#include "src/gpu/path.h"
#include "tests/gpu/emulated.h"

namespace fabrail {

/// One NIC and one GPU of this process. libfabric cannot be opened twice in sensible time, so all
/// tests share it.
struct Machine {
  fabric::Library library;
  fabric::Discovery discovery;
  std::optional<fabric::Endpoint> endpoint;
  std::optional<gpu::Driver> driver;
  fi_addr_t self = 0;
  std::uint64_t next_key = 1;
};

template <typename T>
T take(Result<T> result) {
  if (result.ok()) return result.take();
  ADD_FAILURE() << result.error().text();
  std::exit(1);
}

fabric::NicFilter efa_nics(bool device_memory);
Machine& machine();
/// Both need the context that machine() binds.
CUdeviceptr allocate(std::size_t bytes);
CUdeviceptr map_piece();

struct HostBuffer {
  explicit HostBuffer(std::vector<char> content)
      : data(std::move(content)),
        region(take(fabric::MemoryRegion::open(
            *machine().endpoint, {reinterpret_cast<std::byte*>(data.data()), data.size()},
            machine().next_key++))) {}
  std::vector<char> data;
  fabric::MemoryRegion region;
};

bool knows_dmabuf();
bool has_cuda();
bool is_direct();
/// What can be registered here.
std::vector<gpu::Path> possible_registrations();
/// Of that, what may be used: `efa` would touch with the CPU what it takes for host memory.
std::vector<gpu::Path> usable_paths();
Result<fabric::MemoryRegion> open_region(gpu::Path path, CUdeviceptr address, std::size_t bytes);
/// Waits for the one operation under way.
void expect_completion();
std::vector<char> pattern(std::size_t bytes);
/// The NIC copies one host buffer to another.
void expect_copies(const HostBuffer& source, const HostBuffer& target);
/// The NIC writes a host buffer to device memory and reads it back into another.
void expect_moves(const fabric::MemoryRegion& region, CUdeviceptr address, std::size_t bytes);
/// The NIC takes device memory as the local side, too.
void expect_sends(const fabric::MemoryRegion& region, CUdeviceptr address, std::size_t bytes);
fabric::DeviceProbes probe();
std::vector<gpu::Path> working_paths(const fabric::DeviceProbes& probes);
gpu::ProbeFailure what_failed(const Status& probed);
/// The decision as the plugin makes it: what is known, then what was tried.
gpu::PathDecision decide();

}  // namespace fabrail
