// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The sending half of a queue pair: what was posted goes through stages until its completion is
// reported.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "tests/sim/efa/core/clock.h"
#include "tests/sim/efa/core/completion_queue.h"
#include "tests/sim/efa/core/faults.h"
#include "tests/sim/efa/core/peer.h"
#include "tests/sim/efa/core/rdma.h"

namespace fabrail::sim {

/// What both halves of a queue pair know of it.
struct QueuePairIdentity {
  Fabric* fabric = nullptr;
  Nic nic;
  Profile profile;
  uint32_t qpn = 0;
  uint32_t pd = 0;
  bool reliable = true;
  bool unsolicited = false;
  QueuePair* self = nullptr;

  Membership& membership() const { return fabric->membership(); }
};

/// RDMA of more than this is left to the engine and to pollers, so that a post returns at once.
inline constexpr uint32_t kPosterRdmaBytes = 16 << 10;

/// Everything here is called with the queue pair's mutex held, except what is said to be callable
/// without.
class SendQueue {
 public:
  SendQueue(const QueuePairIdentity& identity, CompletionQueue& completions, uint32_t depth);

  /// Accepts all of the requests, or none of them (ENOMEM: the queue is full).
  int post(std::span<const WorkRequest> requests, uint64_t now);
  /// Does what can be done now. Returns when to come again (kNever: only when something happens).
  uint64_t step(uint64_t now);
  /// Completes everything with "flushed".
  void flush();

  /// A piece of a large RDMA operation, to be copied without holding the mutex.
  struct Transfer {
    uint32_t slot = 0;
    RdmaCopy copy;
    bool corrupt = false;
  };
  std::optional<Transfer> take_transfer(uint64_t now);
  /// False while a capped link says when the next piece goes: then the engine alone copies, to keep
  /// its time.
  bool wants_help() const;
  void finish_transfer(const Transfer& transfer, Status status, uint64_t now);

  void set_rnr_retry(uint32_t retries) { rnr_retry_ = retries; }
  /// The engine must look at this queue soon, not just now and then.
  bool needs_engine() const { return !transfers_.empty() || !timers_.empty() || !ready_.empty(); }
  /// When the first of the slots that wait for a time goes on.
  uint64_t next_timer() const { return timers_.empty() ? kNever : timers_.top().first; }
  /// Something is under way. Callable without the mutex.
  bool busy() const { return active_.load(std::memory_order_seq_cst) != 0; }
  /// A completion was polled: its place in the queue is free. Callable without the mutex.
  void release() { used_.fetch_sub(1, std::memory_order_acq_rel); }
  void set_armed(bool armed);

 private:
  enum class Stage : uint8_t { kFree, kDepart, kMove, kTransferring, kNotify, kAwait, kComplete };
  struct Slot {
    WorkRequest request;
    Fate fate;
    Stage stage = Stage::kFree;
    bool was_dropped = false;
    bool is_late_half = false;  // torn: the second halves have arrived
    Status status = Status::kOk;
    uint32_t attempts = 0;
    uint32_t moved = 0;        // bytes of RDMA done
    uint32_t chunk_bytes = 0;  // a transfer goes in pieces of this size,
    uint32_t first_chunk = 0;  // beginning with this one
    uint64_t number = 0;       // in the order of posting
    uint64_t begun_ns = 0;
    uint64_t arrived_ns = 0;  // since when the link could have taken the bytes
    uint64_t finish_ns = 0;   // when the link is done with the bytes
    Peer* peer = nullptr;
  };
  using Timer = std::pair<uint64_t, uint32_t>;

  uint32_t take_slot(const WorkRequest& request, uint64_t now);
  void run_ready(uint64_t now);
  void advance(uint32_t index, uint64_t now);
  bool depart(uint32_t index, uint64_t now);
  bool move(uint32_t index, uint64_t now);
  bool move_message(uint32_t index, uint64_t now);
  bool move_rdma(uint32_t index, uint64_t now);
  bool moved_all(uint32_t index, uint64_t now);
  bool notify(uint32_t index, uint64_t now);
  bool publish(uint32_t index, RingWriter& ring);
  bool complete_later(uint32_t index, uint64_t now);

  bool unsupported(const WorkRequest& request) const;
  bool path_down(const DeviceState* target) const;
  bool await_path(uint32_t index, uint64_t now);
  bool not_ready(uint32_t index, uint64_t now);
  bool wait_for_room(uint32_t index);
  bool park(uint32_t index, uint64_t until);
  bool complete(uint32_t index, Status status);
  void begin_chunks(Slot& slot);
  void queue_transfer(uint32_t index);
  RdmaCopy next_piece(const Slot& slot) const;
  Texture texture_of(const Slot& slot) const;
  bool has_late_half(const Slot& slot) const;
  bool move_late_half(uint32_t index, uint64_t now);
  void count_moved(const Slot& slot, uint32_t bytes);
  void deliver_again(const Slot& slot);

  Peer* find_peer(const Destination& to, uint64_t now);
  DeviceState* device_of(Address address);
  void watch(Peer& peer);
  void collect(uint64_t now);
  void acknowledged(uint32_t index, Status status, uint64_t now);
  void abandon(Peer& peer);
  static uint64_t peer_key(const Destination& to) {
    return uint64_t{to.nic.packed()} << 32 | to.qpn;
  }

  QueuePairIdentity identity_;
  CompletionQueue& completions_;
  uint32_t depth_;
  uint32_t rnr_retry_ = kRnrForever;
  bool armed_ = false;
  Random random_;
  uint32_t seed_ = 0;
  std::atomic<uint32_t> used_{0};    // posted and not yet polled
  std::atomic<uint32_t> active_{0};  // posted and not yet completed
  std::deque<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  std::deque<uint32_t> ready_;
  std::deque<uint32_t> transfers_;
  uint64_t posted_ = 0;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::map<uint64_t, std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> watched_;
  uint64_t next_wake_ns_ = 0;
  Nic last_target_;  // spares a lookup: successive operations tend to go to the same NIC
};

}  // namespace fabrail::sim
