// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Registration, and the end of traffic on memory that NCCL takes back: it does so while requests
// are outstanding when it aborts.
#include <sched.h>

#include <algorithm>

#include "src/transport/clock.h"
#include "src/transport/engine.h"

namespace fabrail::transport {

namespace {

// How long taking memory back may wait for a peer that lives but does not answer. Paid once for
// each such peer.
constexpr std::int64_t kQuiesceMs = 250;

}  // namespace

Result<Registration*> Engine::register_memory(Comm& comm, std::byte* data, std::size_t bytes) {
  // Nothing is a legal thing to register, and providers do not agree.
  FR_TRY_ASSIGN(RegisteredRange * range, acquire_range(data, std::max<std::size_t>(bytes, 1)));
  return enlist(comm, *range);
}

Registration* Engine::enlist(Comm& comm, RegisteredRange& range) {
  const MutexLock lock(mutex_);
  Registration& registration = comm.registrations.emplace_back();
  registration.comm = &comm;
  registration.range = &range;
  registration.self = std::prev(comm.registrations.end());
  return &registration;
}

void Engine::deregister_memory(Registration& registration) {
  Comm& comm = *registration.comm;
  if (busy(registration)) quiesce(comm);  // the communicator is of no use afterwards
  RegisteredRange* range = registration.range;
  {
    const MutexLock lock(mutex_);
    forget(comm, registration);
  }
  release_range(*range);
}

// Registration can take long, so nobody waits for it where the provider does not demand that.
Result<RegisteredRange*> Engine::acquire_range(std::byte* data, std::size_t bytes) {
  if (!rails_.front()->endpoint().caps().serial_domain) return memory_->acquire(data, bytes);
  const MutexLock lock(mutex_);
  return memory_->acquire(data, bytes);
}

void Engine::release_range(RegisteredRange& range) {
  if (!rails_.front()->endpoint().caps().serial_domain) return memory_->release(range);
  const MutexLock lock(mutex_);
  memory_->release(range);
}

// After a NIC that did not end them in time.
void Engine::forget_flushing_reads(const Registration& registration) {
  if (registration.in_flight == 0 || !registration.range->is_device()) return;
  for (const auto& rail : rails_) {
    rail->for_each_op([&](Op& op) {
      if (op.flushed == &registration) op.flushed = nullptr;
    });
  }
}

bool Engine::busy(const Registration& registration) {
  const MutexLock lock(mutex_);
  return registration.in_flight != 0;
}

// Nothing may find its way to the registration any more: requests that still name it, and the
// peer's knowledge.
void Engine::forget(Comm& comm, Registration& registration) {
  if (comm.kind == CommKind::kSend) {
    static_cast<SendComm&>(comm).forget(registration);
  } else {
    auto& receiver = static_cast<RecvComm&>(comm);
    for (RecvSlot& slot : receiver.slots) {
      if (slot.posted && !slot.complete && slot.registration == &registration) slot.posted = false;
    }
    for (const auto& request : receiver.flushes) {
      for (FlushRequest::Target& target : request->targets) {
        if (target.registration == &registration) target.unposted = 0;
      }
    }
    forget_flushing_reads(registration);
  }
  if (registration.announced) comm.region_names.give_back(registration.region);
  comm.registrations.erase(registration.self);
}

// Ends all traffic of a communicator that still has some. What the provider has taken must complete
// or fail (a receiver asks its peer to stop and to say so); a peer that does not answer is not
// waited for long.
void Engine::quiesce(Comm& comm) {
  const std::int64_t begin = now_ms();
  bool first = true;
  while (true) {
    {
      const MutexLock lock(mutex_);
      if (first) start_quiesce(comm);
      if (first || !is_quiet(comm)) poll_all();
      first = false;
      if (is_quiet(comm)) return;
      const bool late = now_ms() - begin > kQuiesceMs;
      bool& given_up = is_reading(comm) ? comm.peer->stalled : comm.peer->unresponsive;
      given_up = given_up || late;
      if (given_up) return;
    }
    sched_yield();
  }
}

// Reads need the peer's NIC, not its answers: that another communicator waited in vain for an
// answer is no reason to leave reads alone with memory that is not ours any more.
bool Engine::is_reading(const Comm& comm) const {
  if (comm.kind != CommKind::kRecv) return false;
  const auto& receiver = static_cast<const RecvComm&>(comm);
  return receiver.pulling && receiver.pulling->reads != 0;
}

void Engine::start_quiesce(Comm& comm) {
  if (comm.kind == CommKind::kRecv && comm.outstanding == 0) return;
  if (comm.kind == CommKind::kSend && static_cast<const SendComm&>(comm).ops == 0) return;
  fail(comm,
       make_error(
           Code::kInternal, 0,
           "the communicator was closed, or its memory deregistered, with requests in flight"));
  if (comm.kind == CommKind::kSend) {
    auto& sender = static_cast<SendComm&>(comm);
    drop_waiting(sender);
    if (sender.offers != 0 && !sender.withdraw_sent) {
      sender.withdraw_sent = true;
      send_short(comm, encode(Withdraw{.comm = comm.remote}));
    }
    return;
  }
  auto& receiver = static_cast<RecvComm&>(comm);
  if (receiver.pulling) return drop_offers(receiver);  // nobody writes here but our own reads
  if (receiver.revoke_sent) return;
  receiver.revoke_sent = true;
  send_short(comm, encode(Revoke{.comm = comm.remote}));
}

bool Engine::is_quiet(const Comm& comm) const {
  if (comm.kind == CommKind::kSend) {
    const auto& sender = static_cast<const SendComm&>(comm);
    return sender.ops == 0 ||
           (sender.ops == sender.offers && (sender.peer->dead || sender.peer_closed));
  }
  const auto& receiver = static_cast<const RecvComm&>(comm);
  if (receiver.own_ops != 0) return false;
  if (receiver.pulling) return receiver.pulling->reads == 0;
  const bool all_sent = receiver.peer_closed && receiver.messages >= receiver.peer_messages;
  return receiver.outstanding == 0 || receiver.revoked == all_rails(receiver.rails) || all_sent ||
         receiver.peer->dead;
}

// Operations that no provider has seen yet simply do not happen; but announcements that one took
// along belong to other communicators, and leave without it.
void Engine::drop_waiting(SendComm& comm) {
  for (const auto& rail : rails_) {
    rail->drop_waiting([&](Op& op) FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
      const bool ours =
          op.comm == comm.key && (op.kind == OpKind::kWrite || op.kind == OpKind::kSend);
      if (!ours) return false;
      if (op.request != nullptr) finish_op(comm, *op.request);
      if (op.announces != 0) {
        op.request = nullptr;
        op.comm = kNobody;
        op.bytes = op.announces;
        return false;
      }
      peers_.drop(rails_, *op.peer);
      return true;
    });
  }
}

// Operations that are still with the provider outlive their communicator, whose key may name
// another one by then.
void Engine::detach_ops(const Comm& comm) {
  const bool receiver = comm.kind == CommKind::kRecv;
  for (const auto& rail : rails_) {
    rail->for_each_op([&](Op& op) {
      if (op.comm != comm.key || is_receivers(op.kind, op.reply) != receiver) return;
      op.request = nullptr;
      op.flushed = nullptr;
      op.comm = kNobody;
    });
  }
}

void Engine::acknowledge_revoke(SendComm& comm) {
  comm.revoked = false;
  if (comm.peer->dead) return;
  for (std::uint32_t rail = 0; rail < comm.rails; ++rail) {
    rails_[rail]->send_short(
        comm.peer->to[rail],
        encode(Revoked{.rail = static_cast<std::uint8_t>(rail), .comm = comm.remote}));
  }
}

}  // namespace fabrail::transport
