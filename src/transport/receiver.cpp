// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// irecv: announces receives to the sender, and gives eager messages the receives that they belong
// to.
#include <algorithm>
#include <cstring>

#include "src/transport/engine.h"

namespace fabrail::transport {

namespace {

constexpr std::size_t kSpillBytes = 8192;  // the largest eager message
constexpr std::int32_t kSpillSlots = 64;   // in one slab

Error outgrown_error(const Comm& comm, std::size_t message_bytes, std::uint32_t receive_bytes) {
  return make_error(
      Code::kInvalidUsage, 0,
      "the peer (%s) sent %zu bytes for a receive of %u bytes: the ranks disagree, compare their "
      "NCCL_PROTO, NCCL_ALGO, NCCL_BUFFSIZE and NCCL versions",
      comm.peer->name.c_str(), message_bytes, receive_bytes);
}

}  // namespace

Result<Request*> Engine::receive(RecvComm& comm, std::span<const ReceiveArgs> args) {
  const auto count = static_cast<std::uint32_t>(args.size());
  const MutexLock lock(mutex_);
  if (!comm.error) check_closed(comm);
  if (comm.error) return sticky(comm);
  if (announcements_.size() >= kMaxAnnouncements) send_announcements();
  if (comm.next - comm.tail + count > kWindow ||
      rails_[comm.home]->control_backlog(comm.peer->to[comm.home])) {
    return not_now(comm, false);
  }
  for (const ReceiveArgs& receive : args) {
    const std::span<std::byte> range = receive.registration->range->bytes();
    if (receive.data < range.data() || receive.data > range.data() + range.size()) {
      return make_error(Code::kInvalidArgument, 0, "irecv into memory outside of its registration");
    }
    // Into these only our own reads go.
    if (!comm.pulled && !announce_region(comm, *receive.registration)) return not_now(comm, false);
  }
  const std::uint32_t group = comm.next;
  for (std::uint32_t index = 0; index < count; ++index) post_slot(comm, args[index], index, count);
  RecvSlot& first = comm.slot(group);
  first.remaining = static_cast<std::uint8_t>(count);
  begin_request(comm);
  for (std::uint32_t index = 0; index < count; ++index) announce(comm, group + index);
  if (comm.eager.any_waiting()) deliver_waiting(comm, group);
  return &first;
}

void Engine::post_slot(RecvComm& comm, const ReceiveArgs& args, std::uint32_t index,
                       std::uint32_t count) {
  RecvSlot& slot = comm.slot(comm.next++);
  slot = {};
  slot.kind = RequestKind::kRecv;
  slot.comm = &comm;
  slot.data = args.data;
  slot.registration = args.registration;
  slot.tag = args.tag;
  slot.capacity = args.capacity;
  slot.group_size = static_cast<std::uint8_t>(count);
  slot.group_index = static_cast<std::uint8_t>(index);
  slot.posted = true;
  ++args.registration->in_flight;
}

// The peer learns a region's keys once; afterwards its number stands for them.
bool Engine::announce_region(Comm& comm, Registration& registration) {
  if (registration.announced) return true;
  const bool to_receiver = comm.kind == CommKind::kSend;
  Op* op = take_op(comm.home, to_receiver ? OpKind::kSend : OpKind::kControl, *comm.peer);
  if (op == nullptr) return false;
  const auto name = comm.region_names.take();
  if (!name) {
    give_up(comm.home, *op);
    return false;
  }
  registration.region = *name;
  registration.announced = true;
  const std::span<std::byte> range = registration.range->bytes();
  Region message{.to_receiver = to_receiver, .comm = comm.remote, .region = registration.region};
  const bool virtual_addresses = rails_[comm.home]->endpoint().caps().virtual_addresses;
  message.base = virtual_addresses ? reinterpret_cast<std::uintptr_t>(range.data()) : 0;
  message.length = range.size();
  message.rails = static_cast<std::uint8_t>(comm.rails);
  for (std::uint32_t rail = 0; rail < comm.rails; ++rail)
    message.keys[rail] = registration.range->key(rail);
  op->comm = comm.key;
  op->bytes = encode(message, {op->bounce, Rail::kBufferBytes});
  count(counters_.control_messages);
  count(counters_.control_bytes, op->bytes);
  if (const Status sent = submit(comm.home, *op); !sent.ok()) suspect(comm, sent.error());
  return true;
}

// Announcements leave with the next test() on this device: a message that NCCL sends in between,
// which somebody may be waiting for, leaves first. A receive that an eager message can fill is not
// urgent at all: its announcement is needed only before the sender has too many of those under way.
void Engine::announce(RecvComm& comm, std::uint32_t sequence) {
  const RecvSlot& slot = comm.slot(sequence);
  const std::byte* base = slot.registration->range->bytes().data();
  const ClearToSend message{.group_size = slot.group_size,
                            .group_index = slot.group_index,
                            .comm = comm.remote,
                            .sequence = sequence,
                            .tag = slot.tag,
                            .region = slot.registration->region,
                            .length = slot.capacity,
                            .offset = static_cast<std::uint64_t>(slot.data - base)};
  announcements_.push_back({.comm = comm.key, .message = encode(message)});
  const bool can_wait = slot.group_size == 1 && slot.capacity <= settings_.eager_bytes &&
                        !is_on_device(slot.registration);
  announcements_due_ =
      announcements_due_ || !can_wait || announcements_.size() >= kLazyAnnouncements;
}

// Those for the same peer and rail go in one message.
void Engine::send_announcements() {
  for (std::size_t first = 0; first < announcements_.size();)
    first += send_announcements_from(first);
  announcements_.clear();
  announcements_due_ = false;
  fruitless_tests_ = 0;
}

std::size_t Engine::send_announcements_from(std::size_t first) {
  RecvComm* comm = receivers_.find(announcements_[first].comm);
  if (comm == nullptr || comm->error) return 1;  // its memory may be released
  std::size_t last = first + 1;
  while (last < announcements_.size() && same_path(*comm, announcements_[last].comm)) ++last;
  Op* op = last - first > 1 && !comm->peer->dead
               ? take_op(comm->home, OpKind::kControl, *comm->peer)
               : nullptr;
  if (op == nullptr) {
    send_short(*comm, announcements_[first].message);
    return 1;
  }
  op->comm = comm->key;
  op->bytes = 0;
  for (std::size_t i = first; i < last; ++i) {
    const ShortMessage& message = announcements_[i].message;
    std::copy_n(message.data.begin(), message.bytes, op->bounce + op->bytes);
    op->bytes += message.bytes;
  }
  op->announces = static_cast<std::uint16_t>(op->bytes);
  count(counters_.control_messages);
  count(counters_.control_bytes, op->bytes);
  Peer& peer = *comm->peer;
  if (const Status sent = submit(comm->home, *op); !sent.ok()) suspect_all(peer, sent.error());
  return last - first;
}

bool Engine::same_path(const Comm& comm, std::uint32_t other_key) {
  const RecvComm* other = receivers_.find(other_key);
  return other != nullptr && !other->error && other->peer == comm.peer && other->home == comm.home;
}

void Engine::complete(RecvComm& comm, RecvSlot& slot) {
  slot.complete = true;
  --slot.registration->in_flight;
  ++comm.messages;
  count(counters_.recv_messages);
  count(counters_.recv_bytes, slot.received);
  heard(comm);
  const auto index = static_cast<std::uint32_t>(&slot - comm.slots.data());
  RecvSlot& first = comm.slot(index + kWindow - slot.group_index);
  if (--first.remaining != 0) return;
  first.done = true;
  end_request(comm);
}

void Engine::release_group(RecvComm& comm, RecvSlot& first, std::span<std::uint32_t> sizes) {
  const auto begin = static_cast<std::uint32_t>(&first - comm.slots.data());
  for (std::uint32_t index = 0; index < first.group_size; ++index) {
    RecvSlot& slot = comm.slot(begin + index);
    if (index < sizes.size()) sizes[index] = slot.received;
    slot.posted = false;
  }
  while (comm.tail != comm.next && !comm.slot(comm.tail).posted) ++comm.tail;
}

void Engine::on_eager(const Eager& header, std::span<const std::byte> payload) {
  RecvComm* comm = find_recv(header.comm);
  if (comm == nullptr || comm->error) return;
  if (!comm->eager.is_next(header.eager_sequence)) {
    HeldEager held{.header = header};
    if (keep_payload(held, payload)) {
      if (comm->eager.keep(held)) return;
      drop_payload(held.storage);
    }
    return fail(*comm, make_error(Code::kInternal, 0,
                                  "eager message %u of the peer (%s) is out of any order",
                                  header.eager_sequence, comm->peer->name.c_str()));
  }
  comm->eager.step();
  deliver_or_keep(*comm, header, payload);
  while (const auto held = comm->eager.take_next()) {
    comm->eager.step();
    deliver_or_keep(*comm, held->header, kept_payload(*held));
    drop_payload(held->storage);
  }
}

void Engine::deliver_or_keep(RecvComm& comm, const Eager& header,
                             std::span<const std::byte> payload) {
  if (RecvSlot* slot = find_receive(comm, header)) return deliver(comm, *slot, payload);
  HeldEager held{.header = header};
  if (keep_payload(held, payload)) {
    if (comm.eager.wait(held)) return;
    drop_payload(held.storage);
  }
  fail(comm, make_error(Code::kInternal, 0, "the peer (%s) sent more eager messages than agreed",
                        comm.peer->name.c_str()));
}

// The first receive, from the sender's head on, with this tag that no earlier eager message took.
// The sender applies the same rule (CtsWindow), and never writes into a receive that the rule gives
// to an eager message.
RecvSlot* Engine::find_receive(RecvComm& comm, const Eager& header) {
  for (std::uint32_t sequence = comm.tail; sequence != comm.next; ++sequence) {
    RecvSlot& slot = comm.slot(sequence);
    const bool eligible = static_cast<std::int32_t>(sequence - slot.group_index - header.head) >= 0;
    if (slot.posted && eligible && slot.tag == header.tag && !slot.eager) return &slot;
  }
  return nullptr;
}

void Engine::deliver(RecvComm& comm, RecvSlot& slot, std::span<const std::byte> payload) {
  slot.eager = true;
  if (!is_free_of_reads(comm, slot)) return;
  if (payload.size() > slot.capacity) {
    send_short(comm, encode(Refuse{.to_receiver = false,
                                   .comm = comm.remote,
                                   .message_bytes = static_cast<std::uint32_t>(payload.size()),
                                   .receive_bytes = slot.capacity}));
    return fail(comm, outgrown_error(comm, payload.size(), slot.capacity));
  }
  if (slot.complete) {
    return fail(comm,
                make_error(Code::kInternal, 0, "two messages of the peer (%s) for one receive",
                           comm.peer->name.c_str()));
  }
  if (is_on_device(slot.registration)) return place(comm, slot, payload);
  if (!payload.empty()) std::memcpy(slot.data, payload.data(), payload.size());
  count(counters_.copied_bytes, payload.size());
  slot.received = static_cast<std::uint32_t>(payload.size());
  complete(comm, slot);
}

void Engine::deliver_waiting(RecvComm& comm, std::uint32_t group) {
  for (std::uint32_t sequence = group; sequence != comm.next; ++sequence) {
    RecvSlot& slot = comm.slot(sequence);
    const auto held = comm.eager.take_waiting(group, slot.tag);
    if (!held) continue;
    deliver(comm, slot, kept_payload(*held));
    drop_payload(held->storage);
  }
}

bool Engine::keep_payload(HeldEager& held, std::span<const std::byte> payload) {
  if (payload.size() > kSpillBytes) return false;
  if (free_spill_.empty()) {
    const auto first = static_cast<std::int32_t>(spill_.size()) * kSpillSlots;
    spill_.push_back(std::make_unique_for_overwrite<std::byte[]>(kSpillSlots * kSpillBytes));
    for (std::int32_t i = kSpillSlots; i-- > 0;) free_spill_.push_back(first + i);
  }
  held.storage = free_spill_.back();
  held.bytes = static_cast<std::uint32_t>(payload.size());
  free_spill_.pop_back();
  std::byte* place = spill_[static_cast<std::size_t>(held.storage / kSpillSlots)].get() +
                     static_cast<std::size_t>(held.storage % kSpillSlots) * kSpillBytes;
  if (!payload.empty()) std::memcpy(place, payload.data(), payload.size());
  count(counters_.copied_bytes, payload.size());
  return true;
}

std::span<const std::byte> Engine::kept_payload(const HeldEager& held) {
  const std::byte* place = spill_[static_cast<std::size_t>(held.storage / kSpillSlots)].get() +
                           static_cast<std::size_t>(held.storage % kSpillSlots) * kSpillBytes;
  return {place, held.bytes};
}

// A peer that has closed sends nothing more: what its messages did not fill will never be filled.
void Engine::check_closed(RecvComm& comm) {
  if (!comm.peer_closed || comm.messages < comm.peer_messages) return;
  fail(comm, make_error(Code::kRemote, 0, "the peer (%s) has closed its end of this communicator",
                        comm.peer->name.c_str()));
}

}  // namespace fabrail::transport
