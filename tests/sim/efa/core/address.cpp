// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors

// Encodes and decodes the GIDs of emulated NICs.
#include "tests/sim/efa/core/address.h"

#include <fmt/format.h>

#include <algorithm>

namespace fabrail::sim {
namespace {

// 02 = locally administered, as in the MAC-derived GIDs of real devices.
constexpr std::array<uint8_t, 12> kPrefix = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x5e, 0xfa, 0xfe};

uint8_t high(uint16_t value) { return static_cast<uint8_t>(value >> 8); }
uint8_t low(uint16_t value) { return static_cast<uint8_t>(value & 0xff); }

}  // namespace

Gid encode_gid(Address address) {
  Gid gid{};
  std::copy(kPrefix.begin(), kPrefix.end(), gid.begin());
  gid[12] = high(address.node);
  gid[13] = low(address.node);
  gid[14] = high(address.device);
  gid[15] = low(address.device);
  return gid;
}

std::optional<Address> decode_gid(const Gid& gid) {
  if (!std::equal(kPrefix.begin(), kPrefix.end(), gid.begin())) return std::nullopt;
  return Address{static_cast<uint16_t>(gid[12] << 8 | gid[13]),
                 static_cast<uint16_t>(gid[14] << 8 | gid[15])};
}

std::string gid_text(const Gid& gid) {
  std::string text;
  for (size_t i = 0; i < gid.size(); i += 2)
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid[i], gid[i + 1]);
  return text;
}

uint64_t guid(Address address) {
  uint64_t value = 0;
  const Gid gid = encode_gid(address);
  for (size_t i = 8; i < gid.size(); ++i) value = value << 8 | gid[i];
  return value;
}

}  // namespace fabrail::sim
