// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The stages of a posted operation: depart, move the bytes, notify the receiver, await its answer,
// complete.
//
// A stage that goes on returns true; one that parked the slot, handed it over or completed it
// returns false.
#include <algorithm>

#include "tests/sim/efa/core/counters.h"
#include "tests/sim/efa/core/send_queue.h"
#include "tests/sim/efa/core/shaper.h"

namespace fabrail::sim {
namespace {

constexpr uint64_t kPathRetry = 2 * kMillisecond;
constexpr uint64_t kStallRetry = kMillisecond;
constexpr uint64_t kNotReadyRetry = 100 * kMicrosecond;
constexpr uint64_t kCrowdedRetry = kMillisecond;
constexpr uint32_t kChunkBytes = 128 << 10;
constexpr uint32_t kSmallestChunk = 4 << 10;

uint64_t packets(uint64_t bytes) { return bytes == 0 ? 1 : (bytes + kMtuBytes - 1) / kMtuBytes; }

/// Half a millisecond's worth of a capped link, so that its users take turns.
uint32_t chunk_for(uint64_t rate) {
  if (rate == 0) return kChunkBytes;
  const auto bytes = std::clamp<uint64_t>(rate / 2000, kSmallestChunk, kChunkBytes);
  return static_cast<uint32_t>(bytes / kWholeUnitBytes * kWholeUnitBytes);
}

bool is_down(const DeviceState& device) {
  return device.shape.link_down.load(std::memory_order_relaxed) != 0 ||
         device.shape.lost.load(std::memory_order_relaxed) != 0;
}

}  // namespace

void SendQueue::advance(uint32_t index, uint64_t now) {
  for (bool go_on = true; go_on;) {
    switch (slots_[index].stage) {
      case Stage::kDepart:
        go_on = depart(index, now);
        break;
      case Stage::kMove:
        go_on = move(index, now);
        break;
      case Stage::kNotify:
        go_on = notify(index, now);
        break;
      case Stage::kComplete:
        go_on = complete(index, slots_[index].status);
        break;
      case Stage::kFree:
      case Stage::kTransferring:
      case Stage::kAwait:
        return;
    }
  }
}

bool SendQueue::unsupported(const WorkRequest& request) const {
  if (request.operation == Operation::kRead) return !identity_.profile.rdma_read;
  if (request.operation == Operation::kWrite) return !identity_.profile.rdma_write;
  return false;
}

bool SendQueue::path_down(const DeviceState* target) const {
  return is_down(*identity_.nic.state) || (target != nullptr && is_down(*target));
}

/// Nothing comes back from the other end: after a while the NIC gives up.
bool SendQueue::await_path(uint32_t index, uint64_t now) {
  const Slot& slot = slots_[index];
  if (!identity_.reliable) return complete(index, Status::kOk);
  const uint64_t limit =
      slot.begun_ns + identity_.nic.state->shape.unresponsive_ms.load() * kMillisecond;
  if (now >= limit) return complete(index, Status::kUnresponsive);
  return park(index, std::min(limit, now + kPathRetry));
}

bool SendQueue::depart(uint32_t index, uint64_t now) {
  Slot& slot = slots_[index];
  if (unsupported(slot.request)) return complete(index, Status::kUnsupportedOp);
  const DeviceState* target = device_of(slot.request.to.nic);
  if (path_down(target)) return await_path(index, now);
  slot.fate = draw_fate(*identity_.nic.state, slot.request, identity_.qpn, random_);
  if (slot.fate.has(kFaultStall)) return park(index, now + kStallRetry);
  if (slot.fate.has(kFaultFail)) {
    slot.status = slot.fate.status;
    slot.stage = Stage::kComplete;
    return slot.fate.delay_ns == 0 || park(index, now + slot.fate.delay_ns);
  }
  if (slot.fate.has(kFaultDrop) && !identity_.reliable) return complete(index, Status::kOk);
  if (slot.fate.has(kFaultNotReady) && slot.request.notifies()) return not_ready(index, now);
  slot.stage = Stage::kMove;
  slot.arrived_ns = now;
  if (target == nullptr) return true;
  const uint64_t delay = slot.fate.delay_ns + draw_latency(*identity_.nic.state, *target, random_);
  slot.arrived_ns = now + delay;
  return delay == 0 || park(index, now + delay);
}

bool SendQueue::move(uint32_t index, uint64_t now) {
  Slot& slot = slots_[index];
  slot.peer = find_peer(slot.request.to, now);
  const bool reached =
      slot.peer != nullptr && slot.peer->state().queue_key.load() == slot.request.to.queue_key;
  if (!reached)
    return complete(index, identity_.reliable ? Status::kBadDestinationQpn : Status::kOk);
  return slot.request.operation == Operation::kSend ? move_message(index, now)
                                                    : move_rdma(index, now);
}

/// The bytes of a message travel with it; here they only take their time on the link.
bool SendQueue::move_message(uint32_t index, uint64_t now) {
  Slot& slot = slots_[index];
  const Grant grant =
      book(*identity_.nic.state, *slot.peer->nic().state, slot.request.bytes, slot.arrived_ns, now);
  if (!grant.granted) return park(index, grant.retry_ns);
  slot.finish_ns = grant.finish_ns;
  return moved_all(index, now);
}

bool SendQueue::move_rdma(uint32_t index, uint64_t now) {
  Slot& slot = slots_[index];
  if (slot.moved == slot.request.bytes) return moved_all(index, now);
  if (slot.request.bytes > kPosterRdmaBytes) {
    begin_chunks(slot);
    queue_transfer(index);
    return false;
  }
  slot.chunk_bytes = slot.request.bytes;
  const bool is_read = slot.request.operation == Operation::kRead;
  DeviceState& near = *identity_.nic.state;
  DeviceState& far = *slot.peer->nic().state;
  const Grant grant =
      book(is_read ? far : near, is_read ? near : far, slot.request.bytes, slot.arrived_ns, now);
  if (!grant.granted) return park(index, grant.retry_ns);
  const RdmaCopy copy = next_piece(slot);
  const Status status = copy_rdma(identity_.membership(), copy);
  if (status != Status::kOk) return complete(index, status);
  if (slot.fate.has(kFaultCorrupt)) corrupt_target(identity_.membership(), copy);
  slot.finish_ns = grant.finish_ns;
  slot.moved = slot.request.bytes;
  count_moved(slot, slot.moved);
  return moved_all(index, now);
}

void SendQueue::begin_chunks(Slot& slot) {
  if (slot.chunk_bytes != 0) return;
  const uint64_t near = identity_.nic.state->shape.rate_bytes_per_s.load();
  const uint64_t far = slot.peer->nic().state->shape.rate_bytes_per_s.load();
  slot.chunk_bytes = std::min(chunk_for(near), chunk_for(far));
  const uint32_t chunks = (slot.request.bytes + slot.chunk_bytes - 1) / slot.chunk_bytes;
  // Packets of one operation arrive in any order: with shuffle on, the last bytes may come before
  // the first. Pieces that would split what arrives whole stay in order.
  const bool splits =
      identity_.profile.writes_whole_128 && slot.request.remote_address % kWholeUnitBytes != 0;
  if (identity_.nic.state->shape.shuffle_window.load() > 1 && !splits)
    slot.first_chunk = static_cast<uint32_t>(random_.below(chunks));
}

/// The link goes to the oldest operation until that is through: none starves, and they end one
/// after the other. If all ended together, whoever posts a new one for each that ended would leave
/// the link idle meanwhile. With shuffle on, anyone's piece may be the next.
void SendQueue::queue_transfer(uint32_t index) {
  const bool takes_turns = identity_.nic.state->shape.shuffle_window.load() > 1;
  const auto is_older = [this](uint64_t number, uint32_t other) {
    return number < slots_[other].number;
  };
  const auto place = takes_turns ? transfers_.end()
                                 : std::upper_bound(transfers_.begin(), transfers_.end(),
                                                    slots_[index].number, is_older);
  transfers_.insert(place, index);
}

/// The piece that follows `moved` bytes. Pieces go round from first_chunk; the last one of the
/// buffer is shorter.
RdmaCopy SendQueue::next_piece(const Slot& slot) const {
  const WorkRequest& request = slot.request;
  const uint32_t chunks = (request.bytes + slot.chunk_bytes - 1) / slot.chunk_bytes;
  const uint32_t before_wrap = request.bytes - slot.first_chunk * slot.chunk_bytes;
  const uint32_t offset = slot.moved < before_wrap
                              ? slot.first_chunk * slot.chunk_bytes + slot.moved
                              : slot.moved - before_wrap;
  const uint32_t end =
      chunks == 1 ? request.bytes
                  : std::min(request.bytes, (offset / slot.chunk_bytes + 1) * slot.chunk_bytes);
  RdmaCopy copy{request.operation,   identity_.nic,      identity_.pd,
                request.segments[0], slot.peer->owner(), {}};
  copy.local.address += offset;
  copy.local.bytes = end - offset;
  copy.remote = {request.remote_address + offset, end - offset, request.remote_key};
  copy.texture = texture_of(slot);
  return copy;
}

bool SendQueue::wants_help() const {
  if (transfers_.empty()) return false;
  const Slot& next = slots_[transfers_.front()];
  return next.peer == nullptr || !is_capped(*identity_.nic.state, *next.peer->nic().state);
}

std::optional<SendQueue::Transfer> SendQueue::take_transfer(uint64_t now) {
  while (!transfers_.empty()) {
    const uint32_t index = transfers_.front();
    transfers_.pop_front();
    Slot& slot = slots_[index];
    if (slot.peer == nullptr || !slot.peer->reachable(now)) {
      complete(index, Status::kBadDestinationQpn);
      continue;
    }
    const RdmaCopy copy = next_piece(slot);
    const bool is_read = slot.request.operation == Operation::kRead;
    DeviceState& near = *identity_.nic.state;
    DeviceState& far = *slot.peer->nic().state;
    const Grant grant =
        book(is_read ? far : near, is_read ? near : far, copy.local.bytes, slot.arrived_ns, now);
    if (!grant.granted) {
      park(index, grant.retry_ns);
      continue;
    }
    slot.finish_ns = grant.finish_ns;
    slot.stage = Stage::kTransferring;
    return Transfer{index, copy, slot.fate.has(kFaultCorrupt) && slot.moved == 0};
  }
  return std::nullopt;
}

void SendQueue::finish_transfer(const Transfer& transfer, Status status, uint64_t now) {
  Slot& slot = slots_[transfer.slot];
  slot.stage = Stage::kMove;
  if (slot.was_dropped)
    status = Status::kFlushed;
  else if (slot.peer == nullptr)
    status = Status::kBadDestinationQpn;
  if (status != Status::kOk) {
    complete(transfer.slot, status);
    return;
  }
  slot.moved += transfer.copy.local.bytes;
  count_moved(slot, transfer.copy.local.bytes);
  if (slot.moved < slot.request.bytes)
    queue_transfer(transfer.slot);
  else if (moved_all(transfer.slot, now))
    advance(transfer.slot, now);
}

void SendQueue::count_moved(const Slot& slot, uint32_t bytes) {
  if (has_late_half(slot)) return;  // counted with that
  const bool is_read = slot.request.operation == Operation::kRead;
  DeviceState& near = *identity_.nic.state;
  DeviceState& far = *slot.peer->nic().state;
  count(near, is_read ? Counter::kReadBytes : Counter::kWriteBytes, bytes);
  count(near, is_read ? Counter::kRxBytes : Counter::kTxBytes, bytes);
  count(near, is_read ? Counter::kRxPackets : Counter::kTxPackets, packets(bytes));
  count(far, is_read ? Counter::kReadResponseBytes : Counter::kWriteReceivedBytes, bytes);
  count(far, is_read ? Counter::kTxBytes : Counter::kRxBytes, bytes);
  count(far, is_read ? Counter::kTxPackets : Counter::kRxPackets, packets(bytes));
  if (slot.moved == slot.request.bytes)
    count(near, is_read ? Counter::kReadRequests : Counter::kWriteRequests);
}

bool SendQueue::moved_all(uint32_t index, uint64_t now) {
  Slot& slot = slots_[index];
  if (has_late_half(slot)) return move_late_half(index, now);
  if (slot.request.notifies()) {
    slot.stage = Stage::kNotify;
    return slot.finish_ns <= now || park(index, slot.finish_ns);
  }
  return complete_later(index, now);
}

bool SendQueue::wait_for_room(uint32_t index) {
  Slot& slot = slots_[index];
  if (!identity_.reliable) {
    count(*slot.peer->nic().state, Counter::kRxDrops);
    return complete(index, Status::kOk);
  }
  slot.peer->waiting.push_back(index);
  watch(*slot.peer);
  return false;
}

bool SendQueue::notify(uint32_t index, uint64_t now) {
  Slot& slot = slots_[index];
  slot.peer = find_peer(slot.request.to, now);
  if (slot.peer == nullptr)
    return complete(index, identity_.reliable ? Status::kBadDestinationQpn : Status::kOk);
  QpState& state = slot.peer->state();
  const bool takes_receive =
      slot.request.operation == Operation::kSend || state.unsolicited.load() == 0;
  if (takes_receive && state.posted_receives.load(std::memory_order_relaxed) <= 0)
    return not_ready(index, now);
  RingWriter* ring = slot.peer->ring(identity_.nic.state->shape.ring_bytes.load());
  if (ring == nullptr) return park(index, now + kCrowdedRetry);
  if (slot.peer->unacknowledged == kMaxUnacknowledged) return wait_for_room(index);
  return publish(index, *ring);
}

bool SendQueue::publish(uint32_t index, RingWriter& ring) {
  Slot& slot = slots_[index];
  const WorkRequest& request = slot.request;
  const bool is_message = request.operation == Operation::kSend;
  MessageHeader header;
  header.payload_bytes = is_message ? request.bytes : 0;
  std::byte* payload = ring.reserve(header.payload_bytes);
  if (payload == nullptr) return wait_for_room(index);
  if (is_message && !gather(identity_.membership(), identity_.nic, identity_.pd, request, payload))
    return complete(index, Status::kInvalidLkey);
  header.cookie = identity_.reliable ? index : kNoCookie;
  header.bytes = request.bytes;
  header.immediate = request.immediate;
  header.has_immediate = request.has_immediate;
  header.announces_write = !is_message;
  const bool elsewhere = slot.peer->owner().process != identity_.membership().token();
  if (!is_message && elsewhere) header.written_address = request.remote_address;
  header.queue_key = request.to.queue_key;
  header.source_qpn = identity_.qpn;
  header.source_node_device = identity_.nic.address.packed();
  ring.publish(header);
  if (is_message) {
    DeviceState& device = *identity_.nic.state;
    count(device, Counter::kSendBytes, request.bytes);
    count(device, Counter::kSendRequests);
    count(device, Counter::kTxBytes, request.bytes);
    count(device, Counter::kTxPackets);
  }
  if (identity_.reliable) {
    ++slot.peer->unacknowledged;
    watch(*slot.peer);
    if (armed_) ring.arm(true);
    slot.stage = Stage::kAwait;
  }
  slot.peer->notify();
  return identity_.reliable ? false : complete(index, Status::kOk);
}

/// "Not ready": the NIC tries again by itself, as often as the queue pair allows.
bool SendQueue::not_ready(uint32_t index, uint64_t now) {
  Slot& slot = slots_[index];
  if (!identity_.reliable) return complete(index, Status::kOk);
  if (rnr_retry_ != kRnrForever && slot.attempts >= rnr_retry_)
    return complete(index, Status::kReceiverNotReady);
  const uint64_t backoff = kNotReadyRetry << std::min(slot.attempts, 4u);
  ++slot.attempts;
  count(*identity_.nic.state, Counter::kRetransmittedPackets);
  slot.stage = Stage::kDepart;
  return park(index, now + backoff);
}

/// The operation is done; its completion is a link's latency away.
bool SendQueue::complete_later(uint32_t index, uint64_t now) {
  Slot& slot = slots_[index];
  if (slot.fate.has(kFaultDuplicate)) deliver_again(slot);
  slot.stage = Stage::kComplete;
  slot.status = Status::kOk;
  const DeviceState* far = device_of(slot.request.to.nic);
  const uint64_t latency = far == nullptr ? 0 : draw_latency(*identity_.nic.state, *far, random_);
  const uint64_t at = std::max(now, slot.finish_ns) + latency;
  return at <= now || park(index, at);
}

/// Planted fault: a retransmission that was not needed writes the same data once more.
void SendQueue::deliver_again(const Slot& slot) {
  if (slot.request.operation != Operation::kWrite || slot.peer == nullptr) return;
  Slot again = slot;
  again.moved = again.first_chunk = 0;
  again.chunk_bytes = std::max(again.request.bytes, 1u);
  copy_rdma(identity_.membership(), next_piece(again));
  count(*identity_.nic.state, Counter::kRetransmittedPackets, packets(slot.request.bytes));
}

}  // namespace fabrail::sim
