// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Slots, timers and acknowledgements of the sending half; the stages are in send_stages.cpp.
#include "tests/sim/efa/core/send_queue.h"

#include <algorithm>
#include <cerrno>

#include "tests/sim/efa/core/counters.h"

namespace fabrail::sim {
namespace {

constexpr uint64_t kWakeEvery = 2 * kMillisecond;
constexpr uint64_t kHoldBack = 50 * kMicrosecond;

}  // namespace

SendQueue::SendQueue(const QueuePairIdentity& identity, CompletionQueue& completions,
                     uint32_t depth)
    : identity_(identity), completions_(completions), depth_(depth), random_(0) {}

int SendQueue::post(std::span<const WorkRequest> requests, uint64_t now) {
  if (used_.load(std::memory_order_acquire) + requests.size() > depth_) return ENOMEM;
  used_.fetch_add(static_cast<uint32_t>(requests.size()), std::memory_order_acq_rel);
  active_.fetch_add(static_cast<uint32_t>(requests.size()), std::memory_order_seq_cst);
  for (const WorkRequest& request : requests) ready_.push_back(take_slot(request, now));
  return 0;
}

uint32_t SendQueue::take_slot(const WorkRequest& request, uint64_t now) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t index = free_slots_.back();
  free_slots_.pop_back();
  Slot& slot = slots_[index];
  slot = Slot();
  slot.request = request;
  slot.stage = Stage::kDepart;
  slot.number = posted_++;
  slot.begun_ns = now;
  return index;
}

uint64_t SendQueue::step(uint64_t now) {
  if (!busy()) return kNever;
  const uint32_t seed = identity_.nic.state->shape.seed.load(std::memory_order_relaxed);
  if (seed != seed_) {
    seed_ = seed;
    random_ = Random(uint64_t{seed} << 32 ^ identity_.nic.address.packed() ^ identity_.qpn << 20);
  }
  collect(now);
  while (!timers_.empty() && timers_.top().first <= now) {
    ready_.push_back(timers_.top().second);
    timers_.pop();
  }
  run_ready(now);
  uint64_t next = kNever;
  if (!ready_.empty()) next = now + kHoldBack;
  if (!timers_.empty()) next = std::min(next, timers_.top().first);
  if (!watched_.empty()) next = std::min(next, next_wake_ns_);
  return next;
}

/// In order, or shuffled: then any of the first few goes next, and some are held back for later
/// ones to overtake.
void SendQueue::run_ready(uint64_t now) {
  const uint32_t window = identity_.nic.state->shape.shuffle_window.load(std::memory_order_relaxed);
  for (size_t budget = ready_.size(); budget != 0 && !ready_.empty(); --budget) {
    const bool shuffle = window > 1 && identity_.reliable;
    if (shuffle && ready_.size() < window && random_.below(4) == 0) return;
    const size_t pick = shuffle ? random_.below(std::min<size_t>(window, ready_.size())) : 0;
    const uint32_t index = ready_[pick];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(pick));
    advance(index, now);
  }
}

bool SendQueue::park(uint32_t index, uint64_t until) {
  timers_.emplace(until, index);
  return false;
}

bool SendQueue::complete(uint32_t index, Status status) {
  Slot& slot = slots_[index];
  const WorkRequest& request = slot.request;
  Completion completion;
  completion.id = request.id;
  completion.queue_pair = identity_.self;
  completion.status = status;
  completion.bytes = request.bytes;
  completion.qpn = identity_.qpn;
  if (request.operation == Operation::kRead) completion.kind = CompletionKind::kRead;
  if (request.operation == Operation::kWrite) completion.kind = CompletionKind::kWrite;
  DeviceState& device = *identity_.nic.state;
  if (status != Status::kOk && request.operation == Operation::kRead)
    count(device, Counter::kReadErrors);
  if (status != Status::kOk && request.operation == Operation::kWrite)
    count(device, Counter::kWriteErrors);
  if (status == Status::kUnresponsive) count(device, Counter::kUnresponsiveEvents);
  slot.stage = Stage::kFree;
  free_slots_.push_back(index);
  active_.fetch_sub(1, std::memory_order_seq_cst);
  completions_.push(completion, device.shape.shuffle_window.load(std::memory_order_relaxed),
                    random_);
  return false;
}

void SendQueue::flush() {
  ready_.clear();
  timers_ = {};
  transfers_.clear();
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.peer = nullptr;
    // The engine copies without the mutex; it completes the slot when it comes back.
    if (slot.stage == Stage::kTransferring)
      slot.was_dropped = true;
    else if (slot.stage != Stage::kFree)
      complete(i, Status::kFlushed);
  }
  watched_.clear();
  peers_.clear();
}

void SendQueue::set_armed(bool armed) {
  armed_ = armed;
  for (Peer* peer : watched_) peer->ring(0)->arm(armed);
}

DeviceState* SendQueue::device_of(Address address) {
  if (last_target_.state == nullptr || last_target_.address != address)
    last_target_ = {address, identity_.fabric->device(address)};
  return last_target_.state;
}

Peer* SendQueue::find_peer(const Destination& to, uint64_t now) {
  const uint64_t key = peer_key(to);
  auto known = peers_.find(key);
  if (known != peers_.end()) {
    if (known->second->reachable(now)) return known->second.get();
    abandon(*known->second);
    peers_.erase(key);
  }
  auto peer = Peer::open(*identity_.fabric, to.nic, to.qpn);
  if (!peer) return nullptr;
  return peers_.emplace(key, std::move(peer)).first->second.get();
}

void SendQueue::watch(Peer& peer) {
  if (peer.watched) return;
  peer.watched = true;
  watched_.push_back(&peer);
}

/// Takes the receivers' answers; a receiver that has not looked for a while is woken, or found
/// dead.
void SendQueue::collect(uint64_t now) {
  const bool late = now >= next_wake_ns_;
  if (late) next_wake_ns_ = now + kWakeEvery;
  for (size_t i = 0; i < watched_.size();) {
    Peer& peer = *watched_[i];
    bool answered = false;
    while (const auto ack = peer.ring(0)->next_acknowledgement()) {
      answered = true;
      --peer.unacknowledged;
      acknowledged(ack->cookie, static_cast<Status>(ack->status), now);
    }
    if (answered) {
      ready_.insert(ready_.end(), peer.waiting.begin(), peer.waiting.end());
      peer.waiting.clear();
    }
    if (late && peer.unacknowledged != 0) {
      if (peer.reachable(now)) {
        peer.wake();
      } else {
        abandon(peer);
        peers_.erase(peer_key({peer.nic().address, peer.qpn(), 0}));
        continue;
      }
    }
    if (peer.unacknowledged == 0 && peer.waiting.empty()) {
      peer.watched = false;
      watched_.erase(watched_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

/// The queue pair behind `peer` is gone: what waits for its answer fails, the rest finds out when
/// it goes on.
void SendQueue::abandon(Peer& peer) {
  std::erase(watched_, &peer);
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].stage == Stage::kFree || slots_[i].peer != &peer) continue;
    slots_[i].peer = nullptr;
    if (slots_[i].stage == Stage::kAwait) complete(i, Status::kBadDestinationQpn);
  }
  ready_.insert(ready_.end(), peer.waiting.begin(), peer.waiting.end());
  peer.waiting.clear();
}

void SendQueue::acknowledged(uint32_t index, Status status, uint64_t now) {
  if (status == Status::kOk) {
    if (complete_later(index, now)) advance(index, now);
  } else if (status == Status::kReceiverNotReady) {
    not_ready(index, now);
  } else {
    complete(index, status);
  }
}

}  // namespace fabrail::sim
