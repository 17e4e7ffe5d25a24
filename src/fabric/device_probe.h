// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Tries with a little device memory which ways of registering it work on a NIC.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "src/fabric/memory_region.h"

namespace fabrail::fabric {

/// Device memory to try with. It lives in no peer's knowledge and may be freed afterwards.
struct ProbeMemory {
  std::span<std::byte> bytes;
  int cuda_device = 0;
  std::optional<DmabufRange> dmabuf;
  std::optional<Error> no_dmabuf;  ///< why there is none
};

/// What came of each way: success, or why not.
struct DeviceProbes {
  Status dmabuf;
  Status peer_memory;
  Status dmabuf_as_host;
  Status peer_memory_as_host;
};

/// Registers the memory each way, and closes it again.
///
/// `key`  for providers that do not choose keys: never used before on this endpoint.
/// Thread  any.
DeviceProbes probe_device_memory(const Endpoint& endpoint, const ProbeMemory& memory,
                                 std::uint64_t key);

}  // namespace fabrail::fabric
