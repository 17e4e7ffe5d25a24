// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Connects a sender to a remote queue pair.
#include "tests/sim/efa/core/peer.h"

#include "tests/sim/efa/core/clock.h"

namespace fabrail::sim {
namespace {

constexpr uint64_t kCheckEvery = 10 * kMillisecond;

}  // namespace

void mark_pending(QpState& state, uint32_t index) {
  state.pending[index / 64].fetch_or(uint64_t{1} << index % 64, std::memory_order_seq_cst);
  // The receiver clears `summary` before it reads the words, so the bit may be set although it is
  // up already.
  const uint64_t bit = uint64_t{1} << index / 64;
  if ((state.summary.load(std::memory_order_seq_cst) & bit) == 0)
    state.summary.fetch_or(bit, std::memory_order_seq_cst);
}

std::unique_ptr<Peer> Peer::open(Fabric& fabric, Address address, uint32_t qpn) {
  DeviceState* device = fabric.device(address);
  if (device == nullptr) return nullptr;
  auto state = SharedFile<QpState>::open(fabric.qp_path(address, qpn));
  if (!state) return nullptr;
  std::unique_ptr<Peer> peer(new Peer(fabric, {address, device}, qpn, std::move(state)));
  return peer->reachable(now_ns()) ? std::move(peer) : nullptr;
}

Peer::~Peer() {
  if (!ring_) return;
  ring_->close();
  notify();
}

bool Peer::reachable(uint64_t now) {
  if (state_->phase.load(std::memory_order_acquire) != QpPhase::kReceiving) return false;
  if (now < next_check_ns_) return true;
  next_check_ns_ = now + kCheckEvery;
  return fabric_.membership().alive(state_->owner.load());
}

RemoteOwner Peer::owner() const { return {nic_, state_->owner.load(), state_->pd.load()}; }

std::optional<uint32_t> Peer::claim_ring() {
  const Membership& membership = fabric_.membership();
  for (uint32_t i = 0; i < kMaxInboundRings; ++i) {
    std::atomic<uint64_t>& slot = state_->rings[i].word;
    uint64_t word = slot.load();
    if (RingSlot::phase(word) == RingSlot::kReady) continue;
    // A claim of a process that died before it made the ring is void.
    if (RingSlot::phase(word) == RingSlot::kClaimed && membership.alive(RingSlot::owner(word)))
      continue;
    if (slot.compare_exchange_strong(word, RingSlot::pack(membership.token(), RingSlot::kClaimed)))
      return i;
  }
  state_->crowded.store(1);
  wake();
  return std::nullopt;
}

RingWriter* Peer::ring(uint32_t capacity) {
  if (ring_) return &*ring_;
  const auto index = claim_ring();
  if (!index) return nullptr;
  std::atomic<uint64_t>& slot = state_->rings[*index].word;
  auto file = SharedFile<RingState>::create(fabric_.ring_path(nic_.address, qpn_, *index),
                                            ring_file_bytes(capacity));
  if (!file) {
    slot.store(0);
    return nullptr;
  }
  const ProcessToken self = fabric_.membership().token();
  file->capacity = capacity;
  file->sender = self;
  ring_index_ = index;
  ring_.emplace(std::move(file));
  slot.store(RingSlot::pack(self, RingSlot::kReady), std::memory_order_seq_cst);
  return &*ring_;
}

void Peer::notify() {
  mark_pending(*state_, *ring_index_);
  if (state_->armed.load(std::memory_order_seq_cst) != 0) wake();
}

}  // namespace fabrail::sim
