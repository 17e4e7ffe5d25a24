// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The 256 bytes of PCI configuration space that hwloc and lspci read.
#pragma once

#include <cstdint>
#include <string>

namespace fabrail::sim {

struct PciLink {
  uint8_t generation = 4;  // 4: 16 GT/s, 5: 32 GT/s
  uint8_t lanes = 16;
};

/// Bus numbers of a bridge; all 0 for an endpoint.
struct PciBuses {
  uint8_t primary = 0;
  uint8_t secondary = 0;
  uint8_t subordinate = 0;
};

struct PciIdentity {
  uint16_t vendor;
  uint16_t device;
  uint32_t class_code;  // 24 bits
  PciLink link;
  PciBuses buses;
};

/// A bridge as the hypervisor of EC2 shows it.
PciIdentity bridge_identity(uint8_t primary, uint8_t secondary, uint8_t subordinate);

/// Header type 0 or 1 with one capability: PCI Express, with link capabilities and status.
std::string pci_config(const PciIdentity& identity);

}  // namespace fabrail::sim
