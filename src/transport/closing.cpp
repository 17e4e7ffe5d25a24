// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The end of listeners and communicators, and the farewell to their peers.
#include "src/transport/engine.h"

namespace fabrail::transport {

void Engine::close(Listener& listener) {
  const MutexLock lock(mutex_);
  poll(1);
  for (const ConnectRequest& request : listener.waiting)
    refuse_connect(request, Verdict::kNoListener);
  if (RecvComm* comm = listener.accepting) {
    send_short(*comm, encode(Close{.to_receiver = false, .comm = comm->remote}));
    destroy(*comm);
  }
  listeners_.take(listener.key);
}

void Engine::close(SendComm& comm) {
  quiesce(comm);
  const MutexLock lock(mutex_);
  // After an error there may be messages that never left: the peer must not wait for them.
  const std::uint64_t messages = comm.error ? comm.delivered : comm.messages;
  send_short(comm, encode(Close{.to_receiver = true, .comm = comm.remote, .messages = messages}));
  destroy(comm);
}

void Engine::close(RecvComm& comm) {
  quiesce(comm);
  const MutexLock lock(mutex_);
  send_short(comm, encode(Close{.to_receiver = false,
                                .comm = comm.remote,
                                .messages = comm.pulling ? comm.pulling->fetched : 0}));
  destroy(comm);
}

void Engine::drop_registrations(Comm& comm) {
  for (Registration& registration : comm.registrations) memory_->release(*registration.range);
  comm.registrations.clear();
}

void Engine::destroy(SendComm& comm) {
  drop_waiting(comm);
  if (comm.ops != 0 || comm.error) detach_ops(comm);
  drop_registrations(comm);
  peers_.drop(rails_, *comm.peer);
  unreturned_ -= comm.unreturned;
  senders_.take(comm.key);
}

void Engine::destroy(RecvComm& comm) {
  comm.eager.for_each_storage([this](std::int32_t storage) FR_THREAD_ATTRIBUTE(
                                  no_thread_safety_analysis) { drop_payload(storage); });
  for (RecvSlot& slot : comm.slots) {
    if (slot.held >= 0) drop_payload(slot.held);
  }
  if (comm.pulling) drop_offers(comm);
  if (comm.own_ops != 0 || (comm.pulling && comm.pulling->reads != 0)) detach_ops(comm);
  drop_registrations(comm);
  peers_.drop(rails_, *comm.peer);
  unreturned_ -= comm.unreturned;
  receivers_.take(comm.key);
}

}  // namespace fabrail::transport
