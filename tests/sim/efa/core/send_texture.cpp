// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// How the bytes of an RDMA operation become visible at their target: as the device promises, or
// torn by a planted fault.
#include "tests/sim/efa/core/send_queue.h"

namespace fabrail::sim {

Texture SendQueue::texture_of(const Slot& slot) const {
  if (slot.fate.tears())
    return {slot.is_late_half ? Texture::kFirstHalves : Texture::kSecondHalves,
            slot.fate.has(kFaultTear128) ? kWholeUnitBytes : 8};
  const bool whole =
      slot.request.operation == Operation::kWrite && identity_.profile.writes_whole_128;
  if (!whole) return {};
  return {Texture::kWholeUnits, kWholeUnitBytes,
          identity_.nic.state->shape.shuffle_window.load() > 1};
}

bool SendQueue::has_late_half(const Slot& slot) const {
  return slot.fate.tears() && !slot.is_late_half && slot.request.operation != Operation::kSend;
}

/// Planted fault: all bytes once more, but only those that were left out. The operation completes
/// when they, too, are there.
bool SendQueue::move_late_half(uint32_t index, uint64_t now) {
  Slot& slot = slots_[index];
  slot.is_late_half = true;
  slot.moved = 0;
  slot.stage = Stage::kMove;
  return park(index, now + slot.fate.tear_ns);
}

}  // namespace fabrail::sim
