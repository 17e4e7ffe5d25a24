// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors

// Where an emulated NIC is: its node and its index there, and the GID that says both.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace fabrail::sim {

using Gid = std::array<uint8_t, 16>;

/// One NIC of one pretended machine.
struct Address {
  uint16_t node = 0;
  uint16_t device = 0;

  bool operator==(const Address&) const = default;
  uint32_t packed() const { return uint32_t{node} << 16 | device; }
};

/// The link-local GID of a NIC; nodes differ, so that libfabric takes them for different hosts.
Gid encode_gid(Address address);

/// The NIC behind a GID, if the GID is one of ours.
std::optional<Address> decode_gid(const Gid& gid);

/// `fe80:0000:...`, as the kernel prints a GID in sysfs.
std::string gid_text(const Gid& gid);

/// The low half of the GID as a number: also the node GUID.
uint64_t guid(Address address);

}  // namespace fabrail::sim
