// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// isend: by RDMA write into the announced receive, or ahead of it if the message is small.
#include <algorithm>
#include <cstring>

#include "src/transport/engine.h"
#include "src/transport/fences.h"

namespace fabrail::transport {

namespace {

Error oversize_error(const Comm& comm, std::uint32_t message_bytes, std::uint32_t receive_bytes) {
  return make_error(Code::kInvalidUsage, 0,
                    "a message of %u bytes for a receive of %u bytes posted by the peer (%s): the "
                    "ranks disagree, "
                    "compare their NCCL_PROTO, NCCL_ALGO, NCCL_BUFFSIZE and NCCL versions",
                    message_bytes, receive_bytes, comm.peer->name.c_str());
}

Error closed_error(const Comm& comm) {
  return make_error(Code::kRemote, 0, "the peer (%s) has closed its end of this communicator",
                    comm.peer->name.c_str());
}

bool covers(const RemoteRegions::Entry& region, std::uint64_t offset, std::uint32_t bytes,
            std::uint32_t rails) {
  return offset <= region.length && bytes <= region.length - offset && region.keys.size() >= rails;
}

}  // namespace

Result<Request*> Engine::send(SendComm& comm, const std::byte* data, std::size_t bytes,
                              std::int32_t tag, Registration* registration) {
  if (bytes > kMaxMessageBytes) {
    return make_error(Code::kInvalidArgument, 0, "isend of %zu bytes: the largest message has %u",
                      bytes, kMaxMessageBytes);
  }
  const auto size = static_cast<std::uint32_t>(bytes);
  const MutexLock lock(mutex_);
  // The announcement may have arrived already and only not been looked at. A small message leaves
  // as well without it: the look would cost more, with tcp a system call.
  const bool leaves_anyway = size <= kTakeAlongBytes && size <= settings_.eager_bytes &&
                             !is_on_device(registration) && comm.window.may_send_eager();
  const bool looked = comm.error || (!comm.window.head_known() && !leaves_anyway);
  if (looked && !comm.error) poll(1u << comm.home);
  if (!comm.error && comm.peer_closed) fail(comm, closed_error(comm));
  if (comm.error) return sticky(comm);
  auto request = try_send(comm, data, size, tag, registration);
  if (!request.ok() || request.value() != nullptr) return request;
  return not_now(comm, looked);
}

// Whatever a refused call waits for comes by polling, and so does the news that its peer is gone.
Result<Request*> Engine::not_now(Comm& comm, bool looked) {
  if (!looked) poll(1u << comm.home);
  watch(comm);
  // A thread that does both sides may test nothing before its isend succeeds.
  if (announcements_due_) send_announcements();
  if (comm.error) return sticky(comm);
  return nullptr;
}

Result<Request*> Engine::try_send(SendComm& comm, const std::byte* data, std::uint32_t size,
                                  std::int32_t tag, Registration* registration) {
  if (const CtsWindow::Receive* receive = comm.window.match(tag)) {
    if (size > receive->length) return refuse_oversize(comm, *receive, size);
    if (size == 0) return push_empty(comm, *receive);
    if (size <= largest_in_message(comm, registration))
      return push_in_message(comm, *receive, data, size);
    if (comm.pulled && registration != nullptr)
      return offer(comm, *receive, data, size, *registration);
    return push(comm, *receive, data, size, registration);
  }
  const bool may_copy = size == 0 || !is_on_device(registration);
  if (may_copy && size <= settings_.eager_bytes && comm.window.may_send_eager())
    return send_eager(comm, data, size, tag);
  return nullptr;
}

// Up to here a copy into a message is better than a transfer of its own.
std::uint32_t Engine::largest_in_message(const SendComm& comm, const Registration* registration) {
  if (is_on_device(registration)) return 0;
  if (comm.pulled) return kSentNotPulledBytes;
  return takes_announcements(comm) ? kTakeAlongBytes : 0;
}

Result<Request*> Engine::refuse_oversize(SendComm& comm, const CtsWindow::Receive& receive,
                                         std::uint32_t bytes) {
  send_short(comm, encode(Refuse{.to_receiver = true,
                                 .comm = comm.remote,
                                 .message_bytes = bytes,
                                 .receive_bytes = receive.length}));
  fail(comm, oversize_error(comm, bytes, receive.length));
  return sticky(comm);
}

// Eager messages are matched when their receive becomes known; one that is too long shows then.
void Engine::check_oversize(SendComm& comm) {
  if (const auto& oversize = comm.window.oversize()) {
    fail(comm, oversize_error(comm, oversize->message_bytes, oversize->receive_bytes));
  }
}

SendRequest* Engine::start_request(SendComm& comm, std::uint32_t bytes, std::uint32_t ops) {
  SendRequest* request = comm.take_request();
  if (request == nullptr) return nullptr;
  request->done = false;
  request->bytes = bytes;
  request->ops = ops;
  request->rails = 0;
  request->offered = false;
  request->registration = nullptr;
  comm.ops += ops;
  ++comm.messages;
  begin_request(comm);
  count(counters_.send_messages);
  count(counters_.send_bytes, bytes);
  return request;
}

// Where the provider cannot be trusted with large writes that carry data, a notice follows the
// write: its buffer is taken now, so that nothing can be missing later.
Op* Engine::take_write_op(std::uint32_t rail, std::uint32_t bytes, Peer& peer) {
  Op* op = take_op(rail, OpKind::kWrite, peer);
  if (op == nullptr || bytes <= rails_[rail]->endpoint().caps().max_data_write_bytes) return op;
  op->notice = true;
  op->bounce = rails_[rail]->take_bounce();
  if (op->bounce != nullptr) return op;
  give_up(rail, *op);
  return nullptr;
}

// All operations of a message, or none.
bool Engine::take_write_ops(SendComm& comm, const Striping& striping, std::span<Op*> ops) {
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    ops[i] = take_write_op(striping.rail(i), striping.length(i), *comm.peer);
    if (ops[i] != nullptr) continue;
    while (i-- > 0) give_up(striping.rail(i), *ops[i]);
    return false;
  }
  return true;
}

Result<Request*> Engine::push(SendComm& comm, const CtsWindow::Receive& receive,
                              const std::byte* data, std::uint32_t bytes,
                              Registration* registration) {
  // Its keys may come after the announcement. (They may even have been replaced, if an eager
  // message filled the receive long ago; but then it is not this one that is matched.)
  const RemoteRegions::Entry* known = comm.regions.find(receive.region);
  if (known == nullptr) return nullptr;
  const RemoteRegions::Entry& region = *known;
  if (!covers(region, receive.offset, bytes, comm.rails)) {
    fail(comm,
         make_error(Code::kRemote, 0, "the peer (%s) announced a receive outside its memory region",
                    comm.peer->name.c_str()));
    return sticky(comm);
  }
  const Striping striping(bytes, comm.rails, settings_.min_stripe_bytes, comm.home, comm.turn);
  std::array<Op*, kMaxRails> storage;
  const std::span<Op*> ops(storage.data(), striping.stripes());
  if (!take_write_ops(comm, striping, ops)) return nullptr;
  SendRequest* request = start_request(comm, bytes, striping.stripes());
  if (request == nullptr) {
    for (std::uint32_t i = 0; i < ops.size(); ++i) give_up(striping.rail(i), *ops[i]);
    return nullptr;
  }
  request->registration = registration;
  if (registration != nullptr) registration->in_flight += striping.stripes();
  comm.turn += striping.stripes();
  count(counters_.push_messages);
  count(counters_.stripes, striping.stripes());
  const std::uint32_t slot = comm.window.slot_of(receive);
  const std::uint64_t remote = region.base + receive.offset;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    post_stripe(comm, *request, *ops[i],
                {striping, i, data, remote, region.keys[striping.rail(i)], slot});
  }
  comm.window.consume(receive);
  check_oversize(comm);
  return request;
}

void Engine::post_stripe(SendComm& comm, SendRequest& request, Op& op, const StripeTarget& target) {
  const std::uint32_t rail = target.striping.rail(target.index);
  const std::uint32_t offset = target.striping.offset(target.index);
  request.rails |= 1u << rail;
  op.comm = comm.key;
  op.request = &request;
  op.data = target.data + offset;
  op.bytes = target.striping.length(target.index);
  op.descriptor =
      request.registration != nullptr ? request.registration->range->descriptor(rail) : nullptr;
  op.remote_address = target.remote_address + offset;
  op.remote_key = target.remote_key;
  op.immediate = encode(Immediate{.comm = key_of(comm.remote),
                                  .slot = target.slot,
                                  .stripe = target.index,
                                  .last = target.index + 1 == target.striping.stripes()});
  if (rails_[rail]->endpoint().caps().immediate_bytes >= sizeof(std::uint64_t)) {
    op.immediate |= std::uint64_t{op.bytes} << 32;
  }
  if (const Status posted = submit(rail, op); !posted.ok()) {
    fail(comm, posted.error());
    finish_op(comm, request);
  }
}

Result<Request*> Engine::push_empty(SendComm& comm, const CtsWindow::Receive& receive) {
  Op* op = comm.has_request() ? take_op(comm.home, OpKind::kSend, *comm.peer) : nullptr;
  if (op == nullptr) return nullptr;
  const ShortMessage message =
      encode(Empty{.comm = comm.remote, .slot = comm.window.slot_of(receive)});
  std::copy_n(message.data.begin(), message.bytes, op->bounce);
  op->bytes = message.bytes;
  SendRequest* request = send_bounce(comm, *op, 0);
  count(counters_.push_messages);
  comm.window.consume(receive);
  check_oversize(comm);
  return request;
}

bool Engine::takes_announcements(const SendComm& comm) {
  return announcements_.size() >= kWorthTakingAlong && same_path(comm, announcements_.front().comm);
}

// Puts the announcements that go to this peer into the front of `room`, as many as fit; returns
// their bytes. A few that nobody waits for stay: each costs the peer time before it gets to the
// message behind.
std::size_t Engine::take_announcements(const SendComm& comm, std::span<std::byte> room) {
  if (!announcements_due_ && announcements_.size() < kWorthTakingAlong) return 0;
  std::size_t used = 0;
  auto next = announcements_.begin();
  for (; next != announcements_.end() && same_path(comm, next->comm); ++next) {
    if (used + next->message.bytes > room.size()) break;
    std::copy_n(next->message.data.begin(), next->message.bytes,
                room.begin() + static_cast<std::ptrdiff_t>(used));
    used += next->message.bytes;
  }
  announcements_.erase(announcements_.begin(), next);
  announcements_due_ = announcements_due_ && !announcements_.empty();
  count(counters_.control_bytes, used);
  return used;
}

Result<Request*> Engine::push_in_message(SendComm& comm, const CtsWindow::Receive& receive,
                                         const std::byte* data, std::uint32_t bytes) {
  Op* op = comm.has_request() ? take_op(comm.home, OpKind::kSend, *comm.peer) : nullptr;
  if (op == nullptr) return nullptr;
  const std::span<std::byte> bounce(op->bounce, Rail::kBufferBytes);
  const std::uint32_t immediate = encode(Immediate{.comm = key_of(comm.remote),
                                                   .slot = comm.window.slot_of(receive),
                                                   .stripe = 0,
                                                   .last = true});
  op->bytes =
      take_announcements(comm, bounce.first(Rail::kBufferBytes - kDeliveryHeaderBytes - bytes));
  op->announces = static_cast<std::uint16_t>(op->bytes);
  encode_delivery_header(Delivery{.comm = comm.remote, .immediate = immediate},
                         bounce.subspan(op->bytes).first<kDeliveryHeaderBytes>());
  before_copying_what_gpu_wrote();
  std::memcpy(bounce.data() + op->bytes + kDeliveryHeaderBytes, data, bytes);
  op->bytes += kDeliveryHeaderBytes + bytes;
  SendRequest* request = send_bounce(comm, *op, bytes);
  count(counters_.push_messages);
  count(counters_.copied_bytes, bytes);
  comm.window.consume(receive);
  check_oversize(comm);
  return request;
}

Result<Request*> Engine::send_eager(SendComm& comm, const std::byte* data, std::uint32_t bytes,
                                    std::int32_t tag) {
  Op* op = comm.has_request() ? take_op(comm.home, OpKind::kSend, *comm.peer) : nullptr;
  if (op == nullptr) return nullptr;
  const std::span<std::byte> bounce(op->bounce, Rail::kBufferBytes);
  const Eager header{.comm = comm.remote,
                     .eager_sequence = comm.eager_sequence,
                     .head = comm.window.head(),
                     .tag = tag};
  op->bytes =
      take_announcements(comm, bounce.first(Rail::kBufferBytes - kEagerHeaderBytes - bytes));
  op->announces = static_cast<std::uint16_t>(op->bytes);
  encode_eager_header(header, bounce.subspan(op->bytes).first<kEagerHeaderBytes>());
  before_copying_what_gpu_wrote();
  if (bytes != 0) std::memcpy(bounce.data() + op->bytes + kEagerHeaderBytes, data, bytes);
  op->bytes += kEagerHeaderBytes + bytes;
  SendRequest* request = send_bounce(comm, *op, bytes);
  ++comm.eager_sequence;
  comm.window.note_eager(tag, bytes);
  count(counters_.eager_messages);
  count(counters_.copied_bytes, bytes);
  return request;
}

// The message in op's bounce buffer leaves; its completion is the request's. There must be a
// request left.
SendRequest* Engine::send_bounce(SendComm& comm, Op& op, std::uint32_t bytes) {
  SendRequest* request = start_request(comm, bytes, 1);
  request->rails = 1u << comm.home;
  op.comm = comm.key;
  op.request = request;
  const bool announces = op.announces != 0;
  if (const Status sent = submit(comm.home, op); !sent.ok()) {
    if (announces) suspect_all(*comm.peer, sent.error());
    fail(comm, sent.error());
    finish_op(comm, *request);
  }
  return request;
}

void Engine::finish_op(SendComm& comm, SendRequest& request) {
  --comm.ops;
  if (request.registration != nullptr) --request.registration->in_flight;
  if (--request.ops == 0) {
    request.done = !comm.error;
    if (request.done) ++comm.delivered;
    end_request(comm);
  }
  if (comm.ops == 0 && comm.revoked) acknowledge_revoke(comm);
}

}  // namespace fabrail::transport
