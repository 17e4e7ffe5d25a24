// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the network brings: messages, arrivals of stripes, completions and failures. Every message
// comes from a peer and may be anything; what is not valid in every detail is dropped.
#include <algorithm>
#include <bit>

#include "src/transport/engine.h"

namespace fabrail::transport {

SendComm* Engine::find_send(CommName name) {
  SendComm* comm = senders_.find(key_of(name));
  return comm != nullptr && comm->name == name ? comm : nullptr;
}

RecvComm* Engine::find_recv(CommName name) {
  RecvComm* comm = receivers_.find(key_of(name));
  return comm != nullptr && comm->name == name ? comm : nullptr;
}

void Engine::on_message(std::uint32_t rail, std::span<const std::byte> bytes) {
  const auto kind = kind_of(bytes);
  if (!kind) return;
  switch (*kind) {
    case MessageKind::kClearToSend:
      return on_announcements(rail, bytes);
    case MessageKind::kEager:
      if (const auto header = decode_eager(bytes))
        on_eager(*header, bytes.subspan(kEagerHeaderBytes));
      return;
    case MessageKind::kEmpty:
      if (const auto message = decode_empty(bytes)) on_empty(*message);
      return;
    case MessageKind::kDelivery:
      if (const auto message = decode_delivery(bytes)) {
        on_delivery(*message, bytes.subspan(kDeliveryHeaderBytes));
      }
      return;
    case MessageKind::kArrived:
      if (const auto message = decode_arrived(bytes)) on_arrived(*message);
      return;
    case MessageKind::kRegion:
      if (const auto message = decode_region(bytes)) on_region(*message);
      return;
    case MessageKind::kOffer:
    case MessageKind::kFetched:
    case MessageKind::kWithdraw:
    case MessageKind::kWithdrawn:
      return on_pull_message(*kind, bytes);
    case MessageKind::kConnectRequest:
      return on_connect_request(rail, bytes);
    case MessageKind::kConnectReply:
      return on_connect_reply(bytes);
    default:
      return on_rare_message(*kind, bytes);
  }
}

void Engine::on_rare_message(MessageKind kind, std::span<const std::byte> bytes) {
  if (kind == MessageKind::kRefuse) {
    if (const auto message = decode_refuse(bytes)) on_refuse(*message);
  } else if (kind == MessageKind::kClose) {
    if (const auto message = decode_close(bytes)) on_close(*message);
  } else if (kind == MessageKind::kRevoke) {
    if (const auto message = decode_revoke(bytes)) on_revoke(*message);
  } else if (kind == MessageKind::kRevoked) {
    if (const auto message = decode_revoked(bytes)) on_revoked(*message);
  }
}

// One or several, one behind the other, and possibly a message of another kind after them.
void Engine::on_announcements(std::uint32_t rail, std::span<const std::byte> bytes) {
  while (kind_of(bytes) == MessageKind::kClearToSend && bytes.size() >= ClearToSend::kBytes) {
    if (const auto message = decode_clear_to_send(bytes.first(ClearToSend::kBytes)))
      on_clear_to_send(*message);
    bytes = bytes.subspan(ClearToSend::kBytes);
  }
  if (kind_of(bytes) != MessageKind::kClearToSend) on_message(rail, bytes);
}

void Engine::on_clear_to_send(const ClearToSend& message) {
  SendComm* comm = find_send(message.comm);
  if (comm == nullptr || comm->error) return;
  heard(*comm);
  if (comm->window.insert(message) == CtsWindow::Insert::kInvalid) {
    return fail(*comm,
                make_error(Code::kRemote, 0, "the peer announced receive %u, which cannot be",
                           message.sequence));
  }
  check_oversize(*comm);
}

void Engine::on_region(const Region& message) {
  RecvComm* receiver = message.to_receiver ? find_recv(message.comm) : nullptr;
  SendComm* sender = message.to_receiver ? nullptr : find_send(message.comm);
  Comm* comm = message.to_receiver ? static_cast<Comm*>(receiver) : sender;
  if (comm == nullptr || comm->error || (receiver != nullptr && !receiver->pulling)) return;
  heard(*comm);
  RemoteRegions& regions = receiver != nullptr ? receiver->pulling->regions : sender->regions;
  if (regions.learn(message)) {
    if (receiver != nullptr) start_reads(*receiver);
  } else {
    return fail(*comm,
                make_error(Code::kRemote, 0, "the peer announced memory region %u, which cannot be",
                           message.region));
  }
}

void Engine::on_arrival(std::uint32_t rail, std::uint64_t immediate, std::size_t length) {
  const Immediate stripe = decode_immediate(static_cast<std::uint32_t>(immediate));
  RecvComm* comm = receivers_.find(stripe.comm);
  if (comm == nullptr) return;
  const bool carries_length =
      rails_[rail]->endpoint().caps().immediate_bytes >= sizeof(std::uint64_t);
  take_stripe(*comm, stripe, static_cast<std::uint32_t>(carries_length ? immediate >> 32 : length),
              rail);
}

void Engine::on_delivery(const Delivery& message, std::span<const std::byte> payload) {
  RecvComm* comm = find_recv(message.comm);
  if (comm == nullptr) return;
  const Immediate stripe = decode_immediate(message.immediate);
  RecvSlot& slot = comm->slots[stripe.slot];
  if (!is_free_of_reads(*comm, slot)) return;
  const bool wanted = slot.posted && !slot.complete && slot.stripes == 0;
  if (wanted && payload.size() <= slot.capacity) {
    if (is_on_device(slot.registration)) {
      slot.stripes = 1;  // taken
      return place(*comm, slot, payload);
    }
    std::copy(payload.begin(), payload.end(), slot.data);
    count(counters_.copied_bytes, payload.size());
  }
  take_stripe(*comm, stripe, static_cast<std::uint32_t>(payload.size()), comm->home);
}

void Engine::on_arrived(const Arrived& message) {
  if (RecvComm* comm = find_recv(message.comm)) {
    take_stripe(*comm, decode_immediate(message.immediate), message.length, comm->home);
  }
}

// A message for a receive that is being read would complete it under our own reads: they would go
// on in memory that NCCL has back, and complete it once more.
bool Engine::is_free_of_reads(RecvComm& comm, const RecvSlot& slot) {
  if (!comm.is_being_read(slot)) return true;
  fail(comm, make_error(Code::kRemote, 0,
                        comm.pulling->withdrawn
                            ? "the peer (%s) has withdrawn its messages: it is aborting"
                            : "two messages of the peer (%s) for one receive",
                        comm.peer->name.c_str()));
  return false;
}

void Engine::take_stripe(RecvComm& comm, const Immediate& stripe, std::uint32_t length,
                         std::uint32_t rail) {
  RecvSlot& slot = comm.slots[stripe.slot];
  if (!is_free_of_reads(comm, slot)) return;
  const std::uint32_t bit = 1u << stripe.stripe;
  if (!slot.posted || slot.complete || (slot.stripes & bit) != 0) return;
  if (length > slot.capacity - slot.received) {
    return fail(comm,
                make_error(Code::kRemote, 0, "more bytes arrived than a receive of %u has room for",
                           slot.capacity));
  }
  slot.stripes |= bit;
  slot.rails |= 1u << rail;
  slot.received += length;
  if (stripe.last) slot.expected = static_cast<std::uint8_t>(stripe.stripe + 1);
  if (slot.expected != 0 && std::popcount(slot.stripes) == slot.expected) complete(comm, slot);
}

void Engine::on_empty(const Empty& message) {
  RecvComm* comm = find_recv(message.comm);
  if (comm == nullptr) return;
  RecvSlot& slot = comm->slots[message.slot];
  if (!is_free_of_reads(*comm, slot)) return;
  if (slot.posted && !slot.complete && slot.stripes == 0) complete(*comm, slot);
}

void Engine::on_refuse(const Refuse& message) {
  Comm* comm =
      message.to_receiver ? static_cast<Comm*>(find_recv(message.comm)) : find_send(message.comm);
  if (comm == nullptr) return;
  fail(*comm, make_error(Code::kInvalidUsage, 0,
                         "a message of %u bytes was sent for a receive of %u bytes (peer: %s): the "
                         "ranks disagree, "
                         "compare their NCCL_PROTO, NCCL_ALGO, NCCL_BUFFSIZE and NCCL versions",
                         message.message_bytes, message.receive_bytes, comm->peer->name.c_str()));
}

void Engine::on_close(const Close& message) {
  if (!message.to_receiver) {
    if (SendComm* comm = find_send(message.comm)) {
      comm->peer_closed = true;
      comm->fetched_at_close = message.messages;
    }
    return;
  }
  RecvComm* comm = find_recv(message.comm);
  if (comm == nullptr) return;
  comm->peer_closed = true;
  comm->peer_messages = message.messages;
}

// The receiver gives up its receives, and must know when none of our writes is under way any more.
void Engine::on_revoke(const Revoke& message) {
  SendComm* comm = find_send(message.comm);
  if (comm == nullptr) return;
  fail(*comm, make_error(Code::kRemote, 0, "the peer (%s) cancelled its receives: it is aborting",
                         comm->peer->name.c_str()));
  comm->revoked = true;
  drop_waiting(*comm);
  if (comm->ops == 0) acknowledge_revoke(*comm);
}

void Engine::on_revoked(const Revoked& message) {
  RecvComm* comm = find_recv(message.comm);
  if (comm == nullptr) return;
  heard(*comm);
  comm->revoked |= 1u << message.rail;
}

bool Engine::on_completed(std::uint32_t rail, Op& op) {
  switch (op.kind) {
    case OpKind::kWrite:
    case OpKind::kSend:
      if (SendComm* comm = op.request != nullptr ? senders_.find(op.comm) : nullptr) {
        if (op.notice && send_notice(*comm, rail, op)) return false;
        finish_op(*comm, *op.request);
      }
      break;
    case OpKind::kRead:
      if (RecvComm* comm = receivers_.find(op.comm)) on_read(*comm, op, rail);
      break;
    case OpKind::kPlace:
      if (RecvComm* comm = receivers_.find(op.comm)) on_placed(*comm, op);
      break;
    case OpKind::kFlush:
      if (RecvComm* comm = receivers_.find(op.comm)) on_flushed(*comm, op);
      break;
    case OpKind::kConnect:
      if (RecvComm* comm = op.reply ? receivers_.find(op.comm) : nullptr) comm->replied = true;
      break;
    case OpKind::kProbe:
      op.peer->probing = false;
      break;
    default:
      break;
  }
  op.peer->unresponsive = false;
  peers_.drop(rails_, *op.peer);
  return true;
}

// The bytes are in place: the same operation goes again as the message that says so.
bool Engine::send_notice(SendComm& comm, std::uint32_t rail, Op& op) {
  if (comm.error) return false;
  const auto bits = static_cast<std::uint32_t>(op.immediate);
  const ShortMessage message = encode(Arrived{
      .comm = comm.remote, .immediate = bits, .length = static_cast<std::uint32_t>(op.bytes)});
  std::copy_n(message.data.begin(), message.bytes, op.bounce);
  op.kind = OpKind::kSend;
  op.notice = false;
  op.bytes = message.bytes;
  const std::int64_t rc = rails_[rail]->submit(op);
  if (rc == 0) return true;
  fi_cq_err_entry entry{};
  entry.err = static_cast<int>(-rc);
  fail(comm, op_error(rail, op, entry));
  return false;
}

void Engine::on_failed(std::uint32_t rail, Op& op, const fi_cq_err_entry& entry) {
  const Error error = op_error(rail, op, entry);
  // What a lost message carried was for others, too, or it holds back theirs.
  const fabric::Endpoint& endpoint = rails_[rail]->endpoint();
  const bool holds_back = is_message(op.kind) && endpoint.caps().numbers_messages;
  if (op.announces != 0 || holds_back) suspect_all(*op.peer, error);
  if (holds_back && !endpoint.is_gone(entry)) message_lost(*op.peer);
  if (op.kind == OpKind::kProbe) {
    op.peer->probing = false;
    peer_died(*op.peer, error.detail);
  } else if (op.kind == OpKind::kRead) {
    if (RecvComm* comm = receivers_.find(op.comm)) on_read_failed(*comm, error);
  } else if (op.kind == OpKind::kPlace || op.kind == OpKind::kFlush) {
    if (RecvComm* comm = receivers_.find(op.comm)) on_own_op_failed(*comm, op.flushed, error);
  } else if (is_receivers(op.kind, op.reply)) {
    if (RecvComm* comm = receivers_.find(op.comm))
      comm->replied ? suspect(*comm, error) : fail(*comm, error);
  } else if (SendComm* comm = senders_.find(op.comm)) {
    fail(*comm, error);
    if (op.request != nullptr) finish_op(*comm, *op.request);
  }
  peers_.drop(rails_, *op.peer);
}

}  // namespace fabrail::transport
