// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/fabric/device_probe.h"

namespace fabrail::fabric {

namespace {

Status try_range(const Endpoint& endpoint, const DeviceRange& range, std::uint64_t key) {
  const auto region = MemoryRegion::open_device(endpoint, range, key);
  return region.ok() ? Status() : Status(region.error());
}

Status try_dmabuf(const Endpoint& endpoint, const ProbeMemory& memory, DeviceRange range,
                  std::uint64_t key) {
  if (!memory.dmabuf) {
    return memory.no_dmabuf ? *memory.no_dmabuf
                            : make_error(Code::kUnsupported, 0, "there is no dma-buf");
  }
  range.dmabuf = memory.dmabuf;
  return try_range(endpoint, range, key);
}

}  // namespace

DeviceProbes probe_device_memory(const Endpoint& endpoint, const ProbeMemory& memory,
                                 std::uint64_t key) {
  const DeviceRange as_host{.bytes = memory.bytes, .cuda_device = std::nullopt, .dmabuf = {}};
  const DeviceRange as_cuda{.bytes = memory.bytes, .cuda_device = memory.cuda_device, .dmabuf = {}};
  return {.dmabuf = try_dmabuf(endpoint, memory, as_cuda, key),
          .peer_memory = try_range(endpoint, as_cuda, key),
          .dmabuf_as_host = try_dmabuf(endpoint, memory, as_host, key),
          .peer_memory_as_host = try_range(endpoint, as_host, key)};
}

}  // namespace fabrail::fabric
