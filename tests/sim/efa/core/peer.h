// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// A sender's view of one remote queue pair: its shared state, its NIC, and the ring that leads
// there.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "tests/sim/efa/core/fabric.h"
#include "tests/sim/efa/core/ring.h"
#include "tests/sim/efa/core/work_request.h"

namespace fabrail::sim {

class Peer {
 public:
  /// Opens the queue pair `qpn` of the NIC `address`; null if there is none that receives.
  static std::unique_ptr<Peer> open(Fabric& fabric, Address address, uint32_t qpn);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// The queue pair receives and (as of at most 10 ms ago) its process lives.
  bool reachable(uint64_t now);

  const Nic& nic() const { return nic_; }
  uint32_t qpn() const { return qpn_; }
  QpState& state() { return *state_; }
  RemoteOwner owner() const;

  /// The ring to the queue pair, made on first use; null while the receiver has no place for one.
  RingWriter* ring(uint32_t capacity);
  /// Tells the receiver that its ring has news; wakes it if it sleeps.
  void notify();
  /// Wakes the receiver's engine: it has not looked for a while.
  void wake() { fabric_.membership().ring(state_->owner.load()); }

  uint32_t unacknowledged = 0;   // entries in the ring that the receiver has not answered
  bool watched = false;          // listed among the peers whose acknowledgements are awaited
  std::deque<uint32_t> waiting;  // send slots that wait for room in the ring

 private:
  Peer(Fabric& fabric, Nic nic, uint32_t qpn, SharedFile<QpState> state)
      : fabric_(fabric), nic_(nic), qpn_(qpn), state_(std::move(state)) {}
  std::optional<uint32_t> claim_ring();

  Fabric& fabric_;
  Nic nic_;
  uint32_t qpn_;
  SharedFile<QpState> state_;
  std::optional<uint32_t> ring_index_;
  std::optional<RingWriter> ring_;
  uint64_t next_check_ns_ = 0;
};

/// Marks ring `index` as having news.
void mark_pending(QpState& state, uint32_t index);

}  // namespace fabrail::sim
