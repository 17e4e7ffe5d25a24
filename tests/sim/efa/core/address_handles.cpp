// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Numbers for destinations, reused when their last handle closes.
#include "tests/sim/efa/core/address_handles.h"

namespace fabrail::sim {

std::optional<uint16_t> AddressHandles::open(Address address, uint32_t limit) {
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(address.packed());
  if (known != entries_.end()) {
    ++known->second.users;
    return known->second.number;
  }
  if (entries_.size() >= limit) return std::nullopt;
  const uint16_t number = returned_.empty() ? next_++ : *returned_.begin();
  returned_.erase(number);
  entries_[address.packed()] = {number, 1};
  return number;
}

void AddressHandles::close(Address address) {
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(address.packed());
  if (known == entries_.end() || --known->second.users != 0) return;
  returned_.insert(known->second.number);
  entries_.erase(known);
}

uint16_t AddressHandles::find(Address address) {
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(address.packed());
  return known == entries_.end() ? kNoAddressHandle : known->second.number;
}

}  // namespace fabrail::sim
