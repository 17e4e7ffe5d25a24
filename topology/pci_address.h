// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Where a device sits on PCI: the one name of a NIC or a GPU on which the kernel, hwloc, libfabric
// and NCCL agree.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fabrail::topology {

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;
  std::uint8_t function = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the defaulted comparison for a literal 0
  friend auto operator<=>(const PciAddress&, const PciAddress&) = default;
};

/// Reads `0000:4f:00.0` or, for domain 0, `4f:00.0`. Upper case digits are fine; anything else
/// around or between is not.
std::optional<PciAddress> parse_pci_address(std::string_view text);

/// `0000:4f:00.0`, as the kernel writes it and as NCCL compares it.
std::string to_text(const PciAddress& address);

}  // namespace fabrail::topology
