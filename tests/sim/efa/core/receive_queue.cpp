// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Drains inbound rings, matches messages with posted buffers, answers the senders.
#include "tests/sim/efa/core/receive_queue.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "tests/sim/efa/core/counters.h"
#include "tests/sim/efa/core/device_memory.h"

namespace fabrail::sim {
namespace {

constexpr uint32_t kBudgetPerRing = 64;
constexpr uint32_t kDatagramHeaderBytes =
    40;  // room that UD receives leave for a global routing header

Address unpack(uint32_t packed) {
  return {static_cast<uint16_t>(packed >> 16), static_cast<uint16_t>(packed & 0xffff)};
}

}  // namespace

ReceiveQueue::ReceiveQueue(const QueuePairIdentity& identity, QpState& state,
                           AddressHandles& handles, CompletionQueue& completions, uint32_t depth)
    : identity_(identity),
      state_(state),
      handles_(handles),
      completions_(completions),
      depth_(depth),
      random_(identity.qpn) {}

/// Rings that were never opened would keep their names.
ReceiveQueue::~ReceiveQueue() {
  for (uint32_t i = 0; i < kMaxInboundRings; ++i)
    if (RingSlot::phase(state_.rings[i].word.load()) != RingSlot::kFree && !rings_.contains(i))
      unlink(identity_.fabric->ring_path(identity_.nic.address, identity_.qpn, i).c_str());
}

int ReceiveQueue::post(const ReceiveRequest& request) {
  if (posted_.size() >= depth_) return ENOMEM;
  posted_.push_back(request);
  state_.posted_receives.fetch_add(1, std::memory_order_release);
  return 0;
}

void ReceiveQueue::flush() {
  state_.posted_receives.store(0);
  for (const ReceiveRequest& request : posted_) {
    Completion completion;
    completion.id = request.id;
    completion.queue_pair = identity_.self;
    completion.status = Status::kFlushed;
    completion.kind = CompletionKind::kReceive;
    completion.qpn = identity_.qpn;
    completions_.push(completion, 0, random_);
  }
  posted_.clear();
}

void ReceiveQueue::step() {
  if (state_.crowded.exchange(0) != 0) drop_rings_of_the_dead();
  uint64_t words = state_.summary.exchange(0, std::memory_order_seq_cst);
  for (; words != 0; words &= words - 1) {
    const auto word = static_cast<uint32_t>(std::countr_zero(words));
    uint64_t rings = state_.pending[word].exchange(0, std::memory_order_seq_cst);
    for (; rings != 0; rings &= rings - 1)
      drain(word * 64 + static_cast<uint32_t>(std::countr_zero(rings)));
  }
}

void ReceiveQueue::drain(uint32_t index) {
  RingReader* ring = open_ring(index);
  if (ring == nullptr) return;
  uint32_t budget = kBudgetPerRing;
  for (; budget != 0; --budget) {
    const auto entry = ring->front();
    if (!entry) break;
    ring->consume(deliver(*entry));
  }
  if (budget != kBudgetPerRing && ring->sender_waits()) identity_.membership().ring(ring->sender());
  if (budget == 0)
    mark_pending(state_, index);
  else if (ring->closed() && !ring->front())
    drop_ring(index);
}

RingReader* ReceiveQueue::open_ring(uint32_t index) {
  const auto known = rings_.find(index);
  if (known != rings_.end()) return &known->second;
  if (RingSlot::phase(state_.rings[index].word.load()) != RingSlot::kReady) return nullptr;
  const std::string path = identity_.fabric->ring_path(identity_.nic.address, identity_.qpn, index);
  auto header = SharedFile<RingState>::open(path);
  if (!header) return nullptr;
  auto whole = SharedFile<RingState>::open(path, ring_file_bytes(header->capacity));
  if (!whole) return nullptr;
  unlink(path.c_str());  // both ends have it mapped
  return &rings_.emplace(index, RingReader(std::move(whole))).first->second;
}

void ReceiveQueue::drop_ring(uint32_t index) {
  rings_.erase(index);
  state_.rings[index].word.store(0);
}

void ReceiveQueue::drop_rings_of_the_dead() {
  for (uint32_t i = 0; i < kMaxInboundRings; ++i) {
    const uint64_t word = state_.rings[i].word.load();
    if (RingSlot::phase(word) != RingSlot::kReady ||
        identity_.membership().alive(RingSlot::owner(word)))
      continue;
    drain(i);
    if (RingSlot::phase(state_.rings[i].word.load()) == RingSlot::kReady) drop_ring(i);
  }
}

Status ReceiveQueue::deliver(const RingReader::Entry& entry) {
  const MessageHeader& header = *entry.header;
  if (header.queue_key != state_.queue_key.load()) return Status::kBadDestinationQpn;
  Completion completion;
  completion.queue_pair = identity_.self;
  completion.unsolicited = header.announces_write != 0 && identity_.unsolicited;
  completion.kind = header.announces_write != 0 ? CompletionKind::kReceiveWriteImmediate
                                                : CompletionKind::kReceive;
  completion.has_immediate = header.has_immediate != 0;
  completion.immediate = header.immediate;
  completion.bytes = header.bytes;
  completion.qpn = identity_.qpn;
  completion.source_qpn = header.source_qpn;
  completion.source = unpack(header.source_node_device);
  completion.source_ah = handles_.find(completion.source);
  DeviceState& device = *identity_.nic.state;
  Status answer = Status::kOk;
  if (!completion.unsolicited) {
    if (posted_.empty()) {
      if (!identity_.reliable) count(device, Counter::kRxDrops);
      return identity_.reliable ? Status::kReceiverNotReady : Status::kOk;
    }
    const ReceiveRequest request = posted_.front();
    posted_.pop_front();
    state_.posted_receives.fetch_sub(1, std::memory_order_relaxed);
    completion.id = request.id;
    if (header.announces_write == 0 && !scatter(request, entry, completion))
      answer =
          completion.status == Status::kBadLength ? Status::kRemoteBadLength : Status::kRemoteAbort;
  }
  if (header.announces_write == 0) {
    count(device, Counter::kRecvBytes, header.bytes);
    count(device, Counter::kRecvRequests);
    count(device, Counter::kRxBytes, header.bytes);
    count(device, Counter::kRxPackets);
  }
  if (header.written_address != 0)
    tell_written(identity_.nic, header.written_address, header.bytes);
  completions_.push(completion, device.shape.shuffle_window.load(std::memory_order_relaxed),
                    random_);
  return answer;
}

bool ReceiveQueue::scatter(const ReceiveRequest& request, const RingReader::Entry& entry,
                           Completion& completion) {
  size_t skip = identity_.reliable ? 0 : kDatagramHeaderBytes;
  completion.bytes += static_cast<uint32_t>(skip);
  auto rest = entry.payload;
  for (size_t i = 0; i < request.segment_count; ++i) {
    const Segment& segment = request.segments[i];
    if (segment.bytes == 0) continue;
    const auto region = PinnedRegion::local(identity_.membership(), identity_.nic, segment,
                                            identity_.pd, kAccessLocalWrite);
    if (!region.valid()) {
      completion.status = Status::kInvalidLkey;
      return false;
    }
    const size_t skipped = std::min<size_t>(skip, segment.bytes);
    const size_t bytes = std::min(rest.size(), segment.bytes - skipped);
    std::memcpy(reinterpret_cast<void*>(region.address() + skipped), rest.data(), bytes);
    tell_written(identity_.nic, segment.address + skipped, bytes);
    rest = rest.subspan(bytes);
    skip -= skipped;
  }
  if (rest.empty()) return true;
  completion.status = Status::kBadLength;
  return false;
}

}  // namespace fabrail::sim
