// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The emulated GPUs as the environment describes them (EMUGPU_*).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emugpu {

struct PciAddress {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;

  friend bool operator==(const PciAddress&, const PciAddress&) = default;
};

struct ComputeCapability {
  int major = 9;
  int minor = 0;
};

struct Settings {
  std::vector<PciAddress> devices;
  ComputeCapability compute_capability;
  std::size_t memory_bytes = 0;  ///< of one device
  bool gpudirect = true;         ///< GPU_DIRECT_RDMA_SUPPORTED
  bool peer_memory = true;       ///< whether emugpu_alias answers: nvidia-peermem is loaded
  bool dmabuf = true;            ///< DMA_BUF_SUPPORTED, and whether export works
  int flush_options = 1;         ///< bits: 1 host, 2 memory operations
  int writes_ordering = 0;       ///< 0 none, 100 owner, 200 all devices
  int visible_after_ms = 0;      ///< 0: NIC writes are visible at once
  int nvlinks = 0;               ///< of each device, to a switch that links them all
  std::uint64_t seed = 1;        ///< of the random delays
  int driver_version = 0;
  int log_level = 1;  ///< 0 errors, 1 refusals, 2 launches and lookups, 3 every driver call
};

/// Read from the environment on first use; what cannot be read ends the program with a message.
const Settings& settings();

/// Parses "domain:bus:device.function".  Errors  false if it is something else.
bool parse_pci_address(const char* text, PciAddress* address);

}  // namespace emugpu
