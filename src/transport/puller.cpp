// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Messages that the receiver reads out of the sender's memory: on NICs that can read by themselves
// but not write (EFA of the first generation, and libfabric before 1.18 on any), where a write
// would wait for the receiver's CPU.
#include <algorithm>

#include "src/transport/engine.h"

namespace fabrail::transport {

// ---- the sender

// The receive is known and large enough. The answer completes the request.
Result<Request*> Engine::offer(SendComm& comm, const CtsWindow::Receive& receive,
                               const std::byte* data, std::uint32_t bytes,
                               Registration& registration) {
  const std::span<std::byte> range = registration.range->bytes();
  if (data < range.data() || data + bytes > range.data() + range.size()) {
    return make_error(Code::kInvalidArgument, 0, "isend from memory outside of its registration");
  }
  if (!comm.has_request() || rails_[comm.home]->control_backlog(comm.peer->to[comm.home]) ||
      !announce_region(comm, registration)) {
    return nullptr;
  }
  SendRequest* request = start_request(comm, bytes, 1);
  request->rails = all_rails(comm.rails);  // providers shake hands before the first read on a rail
  request->offered = true;
  request->registration = &registration;
  ++registration.in_flight;
  ++comm.offers;
  count(counters_.pull_messages);
  send_short(comm, encode(Offer{.comm = comm.remote,
                                .slot = static_cast<std::uint16_t>(comm.window.slot_of(receive)),
                                .request = comm.index_of(*request),
                                .bytes = bytes,
                                .region = registration.region,
                                .offset = static_cast<std::uint64_t>(data - range.data())}));
  comm.window.consume(receive);
  check_oversize(comm);
  return request;
}

void Engine::on_fetched(const Fetched& message) {
  SendComm* comm = find_send(message.comm);
  SendRequest* request = comm != nullptr ? comm->find_offered(message.request) : nullptr;
  if (request == nullptr) return;
  heard(*comm);
  ++comm->fetched;
  finish_offer(*comm, *request);
}

void Engine::finish_offer(SendComm& comm, SendRequest& request) {
  request.offered = false;
  --comm.offers;
  finish_op(comm, request);
}

void Engine::on_withdrawn(const Withdrawn& message) {
  SendComm* comm = find_send(message.comm);
  if (comm == nullptr || !comm->withdraw_sent) return;
  for (std::uint32_t i = 0; i < kSendRequests; ++i) {
    if (SendRequest* request = comm->find_offered(i)) finish_offer(*comm, *request);
  }
}

// A receiver that has closed reads nothing more. What it did read it has said, or is saying. What
// was sent to it, not offered, completes without its help.
void Engine::check_unfetched(SendComm& comm) {
  if (!comm.peer_closed || comm.offers == 0 || comm.fetched < comm.fetched_at_close) return;
  fail(comm, make_error(Code::kRemote, 0,
                        "the peer (%s) has closed its end of this communicator before it read all",
                        comm.peer->name.c_str()));
}

// ---- the receiver

void Engine::on_pull_message(MessageKind kind, std::span<const std::byte> bytes) {
  if (kind == MessageKind::kOffer) {
    if (const auto message = decode_offer(bytes)) on_offer(*message);
  } else if (kind == MessageKind::kFetched) {
    if (const auto message = decode_fetched(bytes)) on_fetched(*message);
  } else if (kind == MessageKind::kWithdraw) {
    if (const auto message = decode_withdraw(bytes)) on_withdraw(*message);
  } else if (const auto message = decode_withdrawn(bytes)) {
    on_withdrawn(*message);
  }
}

void Engine::on_offer(const Offer& message) {
  RecvComm* comm = find_recv(message.comm);
  if (comm == nullptr || comm->error || !comm->pulling || comm->pulling->withdrawn) return;
  heard(*comm);
  const RecvSlot& slot = comm->slots[message.slot];
  Pulling::Waiting& offer = comm->pulling->offers[message.slot];
  const bool expected = slot.posted && !slot.complete && !slot.eager && slot.stripes == 0;
  if (!expected || offer.present || message.bytes > slot.capacity) {
    return fail(*comm,
                make_error(Code::kRemote, 0,
                           "the peer (%s) offered a message of %u bytes for no receive of ours",
                           comm->peer->name.c_str(), message.bytes));
  }
  offer = {.request = message.request,
           .bytes = message.bytes,
           .region = message.region,
           .turn = comm->pulling->turn,
           .offset = message.offset,
           .present = true};
  ++comm->pulling->unposted;
  if (start_reads_of(*comm, message.slot)) --comm->pulling->unposted;
}

// Offers whose region was not known yet, or for whose reads there was no room.
void Engine::start_reads(RecvComm& comm) {
  Pulling& pulling = *comm.pulling;
  for (std::uint32_t i = comm.tail; pulling.unposted != 0 && !comm.error && i != comm.next; ++i) {
    const std::uint32_t slot = i % kWindow;
    const Pulling::Waiting& offer = pulling.offers[slot];
    if (!offer.present || (offer.stripes != 0 && offer.posted == offer.stripes)) continue;
    if (start_reads_of(comm, slot)) --pulling.unposted;
  }
}

// True once every stripe was handed over.
bool Engine::start_reads_of(RecvComm& comm, std::uint32_t slot) {
  Pulling::Waiting& offer = comm.pulling->offers[slot];
  const RemoteRegions::Entry* region = comm.pulling->regions.find(offer.region);
  if (region == nullptr) return false;
  if (offer.offset > region->length || offer.bytes > region->length - offer.offset ||
      region->keys.size() < comm.rails) {
    fail(comm,
         make_error(Code::kRemote, 0, "the peer (%s) offered a message outside its memory region",
                    comm.peer->name.c_str()));
    return false;
  }
  const Striping striping(offer.bytes, comm.rails, settings_.min_stripe_bytes, comm.home,
                          offer.turn);
  if (offer.stripes == 0) {
    offer.stripes = static_cast<std::uint8_t>(striping.stripes());
    comm.pulling->turn += offer.stripes;
  }
  while (offer.posted != offer.stripes) {
    if (!post_read(comm, slot, *region, striping)) return false;
  }
  return true;
}

bool Engine::post_read(RecvComm& comm, std::uint32_t slot, const RemoteRegions::Entry& region,
                       const Striping& striping) {
  Pulling& pulling = *comm.pulling;
  Pulling::Waiting& offer = pulling.offers[slot];
  const std::uint32_t rail = striping.rail(offer.posted);
  const std::uint32_t offset = striping.offset(offer.posted);
  Op* op = take_op(rail, OpKind::kRead, *comm.peer);
  if (op == nullptr) return false;
  const RecvSlot& receive = comm.slots[slot];
  op->comm = comm.key;
  op->slot = static_cast<std::uint16_t>(slot);
  op->data = receive.data + offset;
  op->bytes = striping.length(offer.posted);
  op->descriptor = receive.registration->range->descriptor(rail);
  op->remote_address = region.base + offer.offset + offset;
  op->remote_key = region.keys[rail];
  ++pulling.reads;
  ++offer.posted;
  count(counters_.stripes);
  if (const Status posted = submit(rail, *op); !posted.ok()) {
    on_read_failed(comm, posted.error());
    return false;
  }
  return true;
}

void Engine::on_read(RecvComm& comm, const Op& op, std::uint32_t rail) {
  Pulling& pulling = *comm.pulling;
  comm.peer->stalled = false;
  RecvSlot& slot = comm.slots[op.slot];
  Pulling::Waiting& offer = pulling.offers[op.slot];
  slot.received += static_cast<std::uint32_t>(op.bytes);
  slot.rails |= 1u << rail;
  if (!comm.error && offer.present && slot.received == offer.bytes) {
    offer.present = false;
    ++pulling.fetched;
    send_short(comm, encode(Fetched{.comm = comm.remote, .request = offer.request}));
    complete(comm, slot);
  }
  end_read(comm);
}

void Engine::on_read_failed(RecvComm& comm, const Error& error) {
  suspect(comm, error);
  end_read(comm);
}

void Engine::end_read(RecvComm& comm) {
  Pulling& pulling = *comm.pulling;
  if (--pulling.reads != 0 || !pulling.withdrawn || comm.peer->dead) return;
  send_short(comm, encode(Withdrawn{.comm = comm.remote}));
}

void Engine::on_withdraw(const Withdraw& message) {
  RecvComm* comm = find_recv(message.comm);
  if (comm == nullptr || !comm->pulling || comm->pulling->withdrawn) return;
  drop_offers(*comm);
  comm->pulling->withdrawn = true;
  if (comm->pulling->reads == 0) send_short(*comm, encode(Withdrawn{.comm = comm->remote}));
}

// Reads that no provider has seen yet simply do not happen.
void Engine::drop_offers(RecvComm& comm) {
  Pulling& pulling = *comm.pulling;
  for (const auto& rail : rails_) {
    rail->drop_waiting([&](Op& op) FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
      const bool ours = op.kind == OpKind::kRead && op.comm == comm.key;
      if (ours) {
        peers_.drop(rails_, *op.peer);
        --pulling.reads;
      }
      return ours;
    });
  }
  for (Pulling::Waiting& offer : pulling.offers) offer.present = false;
  pulling.unposted = 0;
}

// Called when a test found its request not done.
void Engine::keep_pulling(Comm& comm) {
  if (comm.kind == CommKind::kSend) return check_unfetched(static_cast<SendComm&>(comm));
  auto& receiver = static_cast<RecvComm&>(comm);
  if (receiver.pulling->unposted != 0 && !comm.error) start_reads(receiver);
}

bool Engine::owes_news(const Comm& comm) {
  return comm.pulled && comm.kind == CommKind::kRecv && !comm.error &&
         rails_[comm.home]->has_waiting_short(comm.peer->to[comm.home], MessageKind::kFetched);
}

// Called when a test found its request done. Whoever has all it waited for may not call us again
// for long, while the sender waits for the news that its message was read.
bool Engine::keeps_news(Comm& comm) {
  if (!owes_news(comm)) return false;
  poll(1u << comm.home);
  if (owes_news(comm)) watch(comm);
  return owes_news(comm);
}

}  // namespace fabrail::transport
