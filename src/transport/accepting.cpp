// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The listener's side of a connection: requests that come, and its answers.
#include <algorithm>

#include "src/transport/agreement.h"
#include "src/transport/clock.h"
#include "src/transport/engine.h"

namespace fabrail::transport {

namespace {

constexpr std::size_t kMaxWaitingRequests = 65536;

}  // namespace

void Engine::on_connect_request(std::uint32_t rail, std::span<const std::byte> bytes) {
  const auto decoded = decode_connect_request(bytes);
  if (!decoded) return;
  if (!decoded->message) {
    logger_.warn(
        "a peer asked for a connection with protocol version %u on NIC %s, this plugin speaks %u: "
        "install the "
        "same fabrail on all nodes",
        decoded->version, rails_[rail]->endpoint().nic().name.c_str(), kProtocolVersion);
    return;
  }
  const ConnectRequest& request = *decoded->message;
  Listener* listener = listeners_.find(request.listener);
  if (listener == nullptr) return refuse_connect(request, Verdict::kNoListener);
  // Whoever does not know the secret was not handed this listener's handle.
  if (listener->secret != request.secret || listener->waiting.size() >= kMaxWaitingRequests) return;
  listener->waiting.push_back(request);
}

void Engine::refuse_connect(const ConnectRequest& request, Verdict verdict) {
  auto peer = peers_.find_or_add(rails_, request.party);
  if (!peer.ok()) return;
  const ConnectReply reply{
      .verdict = verdict, .send_comm = request.send_comm, .recv_comm = 0, .party = own_party()};
  if (const Status sent = send_reply(*peer.value(), reply, nullptr); !sent.ok()) {
    logger_.info("a refusal did not reach the peer (%s): %s", peer.value()->name.c_str(),
                 sent.error().detail);
  }
  peers_.drop(rails_, *peer.value());
}

Status Engine::send_reply(Peer& peer, const ConnectReply& reply, RecvComm* comm) {
  Op* op = take_op(0, OpKind::kConnect, peer);
  if (op == nullptr) return make_error(Code::kSystem, 0, "no room for one more connection reply");
  op->comm = comm != nullptr ? comm->key : kNobody;
  op->reply = true;
  op->bytes = encode(reply, {op->bounce, Rail::kBufferBytes});
  return submit(0, *op);
}

// Both sides end with the difference as their error.
bool Engine::turn_down(Listener& listener, const ConnectRequest& request) {
  const std::string difference =
      settings_.must_agree ? disagreement(own_party(), request.party) : std::string{};
  if (difference.empty()) return false;
  fail(listener, differs(host_, "host " + request.party.host, difference));
  refuse_connect(request, Verdict::kRefused);
  return true;
}

Result<RecvComm*> Engine::accept(Listener& listener) {
  const MutexLock lock(mutex_);
  poll(1);
  // An attempt whose connector went away meanwhile makes room for the next.
  while (listener.accepting != nullptr || take_next_request(listener)) {
    RecvComm& comm = *listener.accepting;
    if (comm.error) {
      logger_.info("a connection ended before it was established: %s", comm.error->detail);
      listener.accepting = nullptr;
      destroy(comm);
      continue;
    }
    if (!comm.replied) {
      watch_connection(comm, now_ms());
      return nullptr;
    }
    listener.accepting = nullptr;
    moved(listener);
    moved(comm);
    return &comm;
  }
  if (listener.error) return sticky(listener);
  watch_connection(listener, now_ms());
  return nullptr;
}

bool Engine::take_next_request(Listener& listener) {
  while (!listener.waiting.empty()) {
    if (turn_down(listener, listener.waiting.front())) {
      listener.waiting.pop_front();
      continue;
    }
    auto accepted = start_accept(listener.waiting.front());
    if (accepted.ok() && accepted.value() == nullptr) return false;  // no room now
    listener.waiting.pop_front();
    if (accepted.ok()) {
      listener.accepting = accepted.value();
      poll(1);
      return true;
    }
    logger_.info("a connection request could not be answered: %s", accepted.error().detail);
  }
  return false;
}

Result<RecvComm*> Engine::start_accept(const ConnectRequest& request) {
  if (!rails_.front()->has_room()) return nullptr;
  FR_TRY_ASSIGN(Peer * peer, peers_.find_or_add(rails_, request.party));
  if (peer->cut_off) {
    const Error error = cut_off_error(*peer);
    peers_.drop(rails_, *peer);
    return error;
  }
  const auto key = receivers_.reserve();
  if (!key) {
    peers_.drop(rails_, *peer);
    return make_error(Code::kSystem, 0, "more than %zu receive communicators on one device",
                      receivers_.kCapacity);
  }
  auto created = std::make_unique<RecvComm>(*this);
  RecvComm& comm = *created;
  comm.peer = peer;
  comm.key = *key;
  comm.name = make_comm_name(*key, static_cast<std::uint32_t>(random_number()));
  comm.remote = request.send_comm;
  comm.rails = static_cast<std::uint32_t>(std::min(rails_.size(), request.party.addresses.size()));
  comm.home = home_rail(request.send_comm, comm.rails);
  comm.pulled = is_pulled(request.party, own_party());
  if (comm.pulled) comm.pulling = std::make_unique<Pulling>();
  if (const auto difference = disagreement(own_party(), request.party); !difference.empty())
    warn_of_difference(*peer, difference);
  receivers_.put(*key, std::move(created));
  const ConnectReply reply{.verdict = Verdict::kAccepted,
                           .send_comm = request.send_comm,
                           .recv_comm = comm.name,
                           .party = own_party()};
  if (const Status sent = send_reply(*peer, reply, &comm); !sent.ok()) {
    destroy(comm);
    return sent.error();
  }
  return &comm;
}

}  // namespace fabrail::transport
