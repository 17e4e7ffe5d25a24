// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// What NICs do to memory, told to the emulated GPU of this process, which lets writes be seen late.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/sim/efa/core/fabric.h"

namespace fabrail::sim {

/// emugpu_nic_wrote() and emugpu_nic_read(): both ignore what is not their memory.
using DeviceMemoryCall = void (*)(uint64_t nic, const void* address, size_t bytes);

/// From now on the GPU is told by these calls, which stay valid; nulls end it.
void connect_device_memory(DeviceMemoryCall wrote, DeviceMemoryCall read);

/// A NIC of this process's node has put bytes into this process's memory. `address` is what the
/// region's keys go by (iova): of device memory its device address, whatever the mapping.
void tell_written(const Nic& nic, uint64_t address, size_t bytes);

/// A NIC is about to take bytes out of this process's memory.
void tell_reading(const Nic& nic, uint64_t address, size_t bytes);

}  // namespace fabrail::sim
