// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The address handles of one NIC in one process: one number per destination.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "tests/sim/efa/core/address.h"

namespace fabrail::sim {

inline constexpr uint16_t kNoAddressHandle = 0xffff;

class AddressHandles {
 public:
  /// The number for a destination; the same one while any handle for it is open. nullopt: `limit`
  /// destinations have one.
  std::optional<uint16_t> open(Address address, uint32_t limit);
  void close(Address address);
  /// kNoAddressHandle if no handle is open for the address.
  uint16_t find(Address address);

 private:
  struct Entry {
    uint16_t number;
    uint32_t users;
  };
  std::mutex mutex_;
  std::map<uint32_t, Entry> entries_;
  std::set<uint16_t> returned_;  // numbers below next_ that are free again
  uint16_t next_ = 0;
};

}  // namespace fabrail::sim
