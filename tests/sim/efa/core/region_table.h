// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Memory keys of one NIC: registration, revocation, and copying under a key.
#pragma once

#include <cstdint>

#include "tests/sim/efa/core/fabric.h"

namespace fabrail::sim {

enum Access : uint32_t {
  kAccessNone = 0,
  kAccessLocalWrite = 1,
  kAccessRemoteWrite = 2,
  kAccessRemoteRead = 4,
};

/// What a work request says about its own memory.
struct Segment {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t key = 0;
};

struct RegionRequest {
  void* address = nullptr;
  uint64_t iova = 0;
  uint64_t bytes = 0;
  uint32_t pd = 0;
  uint32_t access = 0;
};

/// Takes a slot of the device's table; 0 when the table is full.
uint32_t open_region(Membership& membership, const Nic& nic, const RegionRequest& request);

/// Revokes a key. When it returns, no NIC of any process touches the memory any more.
void close_region(Membership& membership, const Nic& nic, uint32_t key);

/// Whose region a remote key must be.
struct RemoteOwner {
  Nic nic;
  ProcessToken process = 0;
  uint32_t pd = 0;
};

/// Pins the memory behind a key while this object lives: a concurrent close_region waits for it.
class PinnedRegion {
 public:
  /// Own memory, for the NIC to read or (`access` = kAccessLocalWrite) write. Segments of 0 bytes
  /// need no key.
  static PinnedRegion local(Membership& membership, const Nic& nic, const Segment& segment,
                            uint32_t pd, uint32_t access);
  /// Memory of the target of an RDMA operation.
  static PinnedRegion remote(Membership& membership, const RemoteOwner& owner,
                             const Segment& segment, uint32_t access);

  bool valid() const { return address_ != 0; }
  uint64_t address() const { return address_; }
  uint32_t pid() const { return pid_; }

 private:
  struct Want {
    ProcessToken owner;
    uint32_t pd;
    uint32_t access;
  };
  PinnedRegion(Membership& membership, const Nic& nic, const Segment& segment, const Want& want);
  void look_up(const RegionSlot& slot, const Segment& segment, const Want& want);

  Membership::Hazard hazard_;
  uint64_t address_ = 0;
  uint32_t pid_ = 0;
};

}  // namespace fabrail::sim
