// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Lays out PCI configuration space (PCI Local Bus 3.0, PCI Express Base: register offsets only).
#include "tests/sim/efa/core/pci_config.h"

namespace fabrail::sim {
namespace {

constexpr size_t kConfigBytes = 256;
constexpr size_t kExpressCapability = 0x40;

void put(std::string& config, size_t offset, uint32_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) config[offset + i] = static_cast<char>(value >> 8 * i & 0xff);
}

void put_express(std::string& config, const PciIdentity& identity, bool is_bridge) {
  constexpr uint32_t kCapabilityId = 0x10;
  const uint32_t port_type = is_bridge ? 0x60 : 0x00;
  const uint32_t link = uint32_t{identity.link.lanes} << 4 | identity.link.generation;
  put(config, kExpressCapability + 0x00, kCapabilityId, 1);
  put(config, kExpressCapability + 0x02, 2 | port_type, 2);
  put(config, kExpressCapability + 0x0c, link, 4);  // link capabilities
  put(config, kExpressCapability + 0x12, link, 2);  // link status
}

}  // namespace

PciIdentity bridge_identity(uint8_t primary, uint8_t secondary, uint8_t subordinate) {
  return {0x1d0f, 0x0200, 0x060400, {5, 16}, {primary, secondary, subordinate}};
}

std::string pci_config(const PciIdentity& identity) {
  std::string config(kConfigBytes, '\0');
  const bool is_bridge = identity.buses.secondary != 0;
  put(config, 0x00, identity.vendor, 2);
  put(config, 0x02, identity.device, 2);
  put(config, 0x06, 0x10, 2);  // status: has a capability list
  put(config, 0x09, identity.class_code, 3);
  put(config, 0x0e, is_bridge ? 1 : 0, 1);
  put(config, 0x34, kExpressCapability, 1);
  if (is_bridge) {
    put(config, 0x18, identity.buses.primary, 1);
    put(config, 0x19, identity.buses.secondary, 1);
    put(config, 0x1a, identity.buses.subordinate, 1);
  } else {
    put(config, 0x2c, identity.vendor, 2);
    put(config, 0x2e, identity.device, 2);
  }
  put_express(config, identity, is_bridge);
  return config;
}

}  // namespace fabrail::sim
