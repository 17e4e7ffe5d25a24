// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The region table: a slot per key, a generation per slot so that stale keys fail.
#include "tests/sim/efa/core/region_table.h"

#include <unistd.h>

namespace fabrail::sim {
namespace {

// A key is generation << 16 | slot. Generations start at 1, so no key is 0 or kClaimed.
constexpr uint32_t kClaimed = 1;
constexpr uint32_t kSlotMask = kMaxRegions - 1;

uint64_t hazard_name(Address device, uint32_t slot) {
  return uint64_t{1} << 63 | uint64_t{device.packed()} << 16 | slot;
}

uint32_t next_key(RegionSlot& slot, uint32_t index) {
  uint32_t generation = (slot.generation.load() + 1) & 0xffff;
  if (generation == 0) generation = 1;
  slot.generation.store(generation);
  return generation << 16 | index;
}

/// Claims a free slot; 0 if there is none.
uint32_t claim(DeviceState& device) {
  const uint32_t start = device.region_hint.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < kMaxRegions; ++i) {
    const uint32_t index = (start + i) & kSlotMask;
    RegionSlot& slot = device.regions[index];
    uint32_t key = 0;
    if (index == 0 || slot.key.load(std::memory_order_relaxed) != 0) continue;
    if (!slot.key.compare_exchange_strong(key, kClaimed)) continue;
    device.region_hint.store(index + 1, std::memory_order_relaxed);
    return index;
  }
  return 0;
}

bool take_one(DeviceState& device) {
  uint32_t open = device.open_regions.load();
  while (open < device.shape.max_regions.load())
    if (device.open_regions.compare_exchange_weak(open, open + 1)) return true;
  return false;
}

/// Frees what dead processes left behind.
void sweep(DeviceState& device, const Membership& membership) {
  for (RegionSlot& slot : device.regions) {
    uint32_t key = slot.key.load();
    if (key <= kClaimed || membership.alive(slot.owner.load())) continue;
    if (slot.key.compare_exchange_strong(key, 0)) device.open_regions.fetch_sub(1);
  }
}

/// Takes one of the allowed registrations, unless living processes have all of them.
bool take_allowance(DeviceState& device, const Membership& membership) {
  if (take_one(device)) return true;
  sweep(device, membership);
  return take_one(device);
}

}  // namespace

uint32_t open_region(Membership& membership, const Nic& nic, const RegionRequest& request) {
  DeviceState& device = *nic.state;
  if (!take_allowance(device, membership)) return 0;
  const uint32_t index = claim(device);
  if (index == 0) {
    device.open_regions.fetch_sub(1);
    return 0;
  }
  RegionSlot& slot = device.regions[index];
  slot.owner = membership.token();
  slot.pid = static_cast<uint32_t>(getpid());
  slot.pd = request.pd;
  slot.access = request.access;
  slot.address = reinterpret_cast<uint64_t>(request.address);
  slot.iova = request.iova;
  slot.bytes = request.bytes;
  const uint32_t key = next_key(slot, index);
  slot.key.store(key, std::memory_order_seq_cst);
  return key;
}

void close_region(Membership& membership, const Nic& nic, uint32_t key) {
  DeviceState& device = *nic.state;
  RegionSlot& slot = device.regions[key & kSlotMask];
  // Closed to new users first, free for others only when the last user has gone.
  slot.key.store(kClaimed, std::memory_order_seq_cst);
  membership.wait_until_unused(hazard_name(nic.address, key & kSlotMask));
  slot.key.store(0, std::memory_order_release);
  device.open_regions.fetch_sub(1);
}

PinnedRegion::PinnedRegion(Membership& membership, const Nic& nic, const Segment& segment,
                           const Want& want)
    : hazard_(membership, hazard_name(nic.address, segment.key & kSlotMask)) {
  look_up(nic.state->regions[segment.key & kSlotMask], segment, want);
}

void PinnedRegion::look_up(const RegionSlot& slot, const Segment& segment, const Want& want) {
  if (segment.key < 1u << 16 || slot.key.load(std::memory_order_seq_cst) != segment.key) return;
  const uint64_t iova = slot.iova.load();
  const bool inside = segment.address >= iova && segment.address - iova <= slot.bytes.load() &&
                      segment.bytes <= slot.bytes.load() - (segment.address - iova);
  if (!inside || slot.owner.load() != want.owner || slot.pd.load() != want.pd) return;
  if ((slot.access.load() & want.access) != want.access) return;
  const uint64_t address = slot.address.load() + (segment.address - iova);
  pid_ = slot.pid.load();
  // The owner of a dead process's slot does not wait for hazards: what was read counts only if the
  // key still stands.
  if (slot.key.load(std::memory_order_seq_cst) == segment.key) address_ = address;
}

PinnedRegion PinnedRegion::local(Membership& membership, const Nic& nic, const Segment& segment,
                                 uint32_t pd, uint32_t access) {
  return {membership, nic, segment, {membership.token(), pd, access}};
}

PinnedRegion PinnedRegion::remote(Membership& membership, const RemoteOwner& owner,
                                  const Segment& segment, uint32_t access) {
  return {membership, owner.nic, segment, {owner.process, owner.pd, access}};
}

}  // namespace fabrail::sim
