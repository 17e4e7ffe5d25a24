// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Moves the bytes of RDMA operations between address spaces, under both sides' memory keys.
#pragma once

#include <cstdint>

#include "tests/sim/efa/core/pieces.h"
#include "tests/sim/efa/core/region_table.h"
#include "tests/sim/efa/core/work_request.h"

namespace fabrail::sim {

/// One piece of an RDMA read or write: as many bytes as `local` has.
struct RdmaCopy {
  Operation operation;
  Nic nic;
  uint32_t pd;
  Segment local;
  RemoteOwner target;
  Segment remote;
  Texture texture = {};
};

/// Copies; the target's process need not run. Both regions stay registered meanwhile.
Status copy_rdma(Membership& membership, const RdmaCopy& copy);

/// Planted fault: changes the first byte of what a write has put at the target.
void corrupt_target(Membership& membership, const RdmaCopy& copy);

/// Copies own memory into a message; false if a key is bad.
bool gather(Membership& membership, const Nic& nic, uint32_t pd, const WorkRequest& request,
            std::byte* to);

}  // namespace fabrail::sim
