// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Faults that are planted at run time: rules in a NIC's shared state, matched against each
// operation.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/sim/efa/core/layout.h"
#include "tests/sim/efa/core/random.h"
#include "tests/sim/efa/core/work_request.h"

namespace fabrail::sim {

enum FaultAction : uint32_t {
  kFaultFail = 1,        // complete with `status`, after `delay_ns`
  kFaultDelay = 2,       // leave `delay_ns` later
  kFaultNotReady = 4,    // the receiver answers "not ready", whatever it has posted
  kFaultStall = 8,       // do not leave while the rule stands
  kFaultDrop = 16,       // UD: lost on the way
  kFaultDuplicate = 32,  // the data of a write arrives twice
  kFaultCorrupt = 64,    // one byte of a write arrives changed
  // The first half of each aligned unit of what RDMA moves arrives `delay_ns` after the second.
  kFaultTear8 = 128,
  kFaultTear128 = 256,
};

/// Which operations a rule concerns, as a set.
enum FaultOperation : uint32_t { kOnSend = 1, kOnRead = 2, kOnWrite = 4, kOnAny = 7 };

inline constexpr uint32_t kAnyPeer = 0xffffffff;

/// A fault and when it happens: of the operations that fit (operation, peer, QPs), the first `skip`
/// pass, then each is hit with a chance of `per_million`, at most `times` times (0: without end).
struct Rule {
  uint32_t actions = kFaultFail;
  uint32_t operations = kOnAny;
  uint32_t peer = kAnyPeer;  // Address::packed() of the other NIC
  uint32_t local_qpn = 0;    // 0: any
  uint32_t remote_qpn = 0;   // 0: any
  Status status = Status::kRemoteAbort;
  uint32_t per_million = 1'000'000;
  uint64_t delay_ns = 0;
  uint64_t skip = 0;
  uint64_t times = 0;
};

/// What happens to one operation: the sum of all rules that hit it.
struct Fate {
  uint32_t actions = 0;
  Status status = Status::kOk;
  uint64_t delay_ns = 0;
  uint64_t tear_ns = 0;

  bool has(FaultAction action) const { return (actions & action) != 0; }
  bool tears() const { return (actions & (kFaultTear8 | kFaultTear128)) != 0; }
};

/// Plants a rule; its number, or nullopt if the table is full.
std::optional<uint32_t> plant(DeviceState& device, const Rule& rule);

/// Takes a rule out, or all of them.
void lift(DeviceState& device, uint32_t number);
void lift_all(DeviceState& device);

/// Draws the fate of an operation that leaves queue pair `qpn`.
Fate draw_fate(DeviceState& device, const WorkRequest& request, uint32_t qpn, Random& random);

}  // namespace fabrail::sim
