// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The connector's side of a connection: its request, its deadline, and what the listener answers.
#include <algorithm>

#include "src/transport/agreement.h"
#include "src/transport/clock.h"
#include "src/transport/engine.h"

namespace fabrail::transport {

namespace {

// Marks the scratch word of a handle as ours; the rest is the name of the half-open communicator.
constexpr std::uint64_t kScratchMark = std::uint64_t{0xfab} << 52;

constexpr std::int64_t kLivenessCheckMs = 500;

Error foreign_handle(HandleFault fault, std::uint8_t version) {
  if (fault == HandleFault::kVersion) {
    return make_error(
        Code::kInvalidUsage, 0,
        "the peer's plugin speaks protocol %u, this one %u: install the same fabrail on all nodes",
        version, kProtocolVersion);
  }
  return make_error(
      Code::kInvalidUsage, 0,
      "the peer's connection handle is %s: do all ranks use this plugin? Compare the lines "
      "'Using network' in their logs",
      fault == HandleFault::kForeign ? "not one of fabrail's" : "damaged");
}

Error refused(const SendComm& comm, Verdict verdict) {
  if (verdict == Verdict::kNoListener) {
    return make_error(Code::kRemote, 0,
                      "the peer (%s) does not listen for this connection any more: it has given up",
                      comm.peer->name.c_str());
  }
  return make_error(Code::kRemote, 0, "the peer (%s) refused the connection; its log says why",
                    comm.peer->name.c_str());
}

}  // namespace

// The eager path of a pull is the push of small messages: a NIC that can do neither is left to
// libfabric's emulation of writes.
Party Engine::own_party() const {
  using Pull = EngineSettings::Pull;
  const fabric::Endpoint& endpoint = rails_.front()->endpoint();
  const bool pulls =
      settings_.pull == Pull::kAlways ||
      (settings_.pull == Pull::kWhereWritesAreEmulated && !endpoint.writes_natively());
  Party party{.identity = identity_,
              .host = host_,
              .provider = endpoint.nic().provider,
              .writes = !pulls,
              .reads = settings_.pull != Pull::kNever && endpoint.reads_natively(),
              .addresses = {},
              .terms = settings_.terms};
  for (const auto& rail : rails_) {
    const auto address = rail->endpoint().address();
    party.addresses.emplace_back(address.begin(), address.end());
  }
  return party;
}

Result<Listener*> Engine::listen(std::span<std::byte, kHandleBytes> handle) {
  const MutexLock lock(mutex_);
  FR_TRY(renew_rails());
  const auto key = listeners_.reserve();
  if (!key)
    return make_error(Code::kSystem, 0, "more than %zu listeners on one device",
                      listeners_.kCapacity);
  auto listener = std::make_unique<Listener>(*this);
  listener->key = *key;
  listener->secret = random_number();
  const auto address = rails_.front()->endpoint().address();
  encode(Handle{.secret = listener->secret,
                .listener = *key,
                .identity = identity_,
                .address = {address.begin(), address.end()}},
         handle);
  Listener* result = listener.get();
  listeners_.put(*key, std::move(listener));
  return result;
}

Result<SendComm*> Engine::connect(std::span<std::byte, kHandleBytes> handle) {
  const std::uint64_t scratch = handle_scratch(handle);
  const MutexLock lock(mutex_);
  if ((scratch & kScratchMark) == kScratchMark) {
    SendComm* comm = find_send(static_cast<CommName>(scratch));
    if (comm != nullptr && comm->connecting) return continue_connect(*comm, handle);
  }
  const DecodedHandle decoded = decode_handle(handle);
  if (decoded.fault != HandleFault::kNone) return foreign_handle(decoded.fault, decoded.version);
  return start_connect(decoded.handle, handle);
}

Result<SendComm*> Engine::start_connect(const Handle& target,
                                        std::span<std::byte, kHandleBytes> handle) {
  FR_TRY(renew_rails());
  const auto key = senders_.reserve();
  if (!key)
    return make_error(Code::kSystem, 0, "more than %zu send communicators on one device",
                      senders_.kCapacity);
  auto created = std::make_unique<SendComm>(*this);
  SendComm& comm = *created;
  const Party party{
      .identity = target.identity, .host = {}, .provider = {}, .addresses = {target.address}};
  auto peer = peers_.find_or_add(rails_, party);
  if (!peer.ok()) {
    senders_.cancel(*key);
    return peer.error();
  }
  if (peer.value()->cut_off) {
    const Error error = cut_off_error(*peer.value());
    senders_.cancel(*key);
    peers_.drop(rails_, *peer.value());
    return error;
  }
  if (!rails_.front()->has_room()) {
    senders_.cancel(*key);
    peers_.drop(rails_, *peer.value());
    poll(1);
    return nullptr;
  }
  comm.peer = peer.value();
  comm.key = *key;
  comm.name = make_comm_name(*key, static_cast<std::uint32_t>(random_number()));
  comm.connecting = std::make_unique<Connecting>();
  const std::int64_t now = now_ms();
  if (settings_.connect_timeout_ms > 0)
    comm.connecting->deadline_ms = now + settings_.connect_timeout_ms;
  senders_.put(*key, std::move(created));
  if (const Status sent = send_request(comm, target); !sent.ok()) {
    destroy(comm);
    return sent.error();
  }
  set_handle_scratch(handle, kScratchMark | comm.name);
  return continue_connect(comm, handle);
}

Status Engine::send_request(SendComm& comm, const Handle& target) {
  Op* op = take_op(0, OpKind::kConnect, *comm.peer);
  if (op == nullptr) return make_error(Code::kSystem, 0, "no room for one more connection request");
  const ConnectRequest request{.secret = target.secret,
                               .listener = target.listener,
                               .send_comm = comm.name,
                               .party = own_party()};
  op->comm = comm.key;
  op->bytes = encode(request, {op->bounce, Rail::kBufferBytes});
  return submit(0, *op);
}

Result<SendComm*> Engine::continue_connect(SendComm& comm,
                                           std::span<std::byte, kHandleBytes> handle) {
  poll(1);
  if (!comm.error && !comm.connecting->replied) check_connect(comm);
  if (comm.error) {
    const Error error = *comm.error;
    set_handle_scratch(handle, 0);
    destroy(comm);
    return error;
  }
  if (!comm.connecting->replied) return nullptr;
  set_handle_scratch(handle, 0);
  comm.connecting.reset();
  moved(comm);
  return &comm;
}

void Engine::check_connect(SendComm& comm) {
  Connecting& state = *comm.connecting;
  const std::int64_t now = now_ms();
  if (now >= state.next_check_ms) {
    state.next_check_ms = now + kLivenessCheckMs;
    comm.peer->ended = comm.peer->ended || has_ended(comm.peer->identity, identity_);
    if (comm.peer->dead || comm.peer->ended) {
      return peer_died(*comm.peer, "its process has ended");
    }
  }
  watch_connection(comm, now);
  if (state.deadline_ms == 0 || now < state.deadline_ms) return;
  fail(comm,
       make_error(Code::kRemote, 0,
                  "no answer from the peer (%s) within %lld s (FABRAIL_CONNECT_TIMEOUT_S). Is its "
                  "process alive, "
                  "and may the two nodes talk on this network (security group, subnet, firewall)?",
                  comm.peer->name.c_str(),
                  static_cast<long long>(settings_.connect_timeout_ms / 1000)));
}

void Engine::on_connect_reply(std::span<const std::byte> bytes) {
  const auto decoded = decode_connect_reply(bytes);
  if (!decoded) return;
  SendComm* comm = find_send(decoded->send_comm);
  if (comm == nullptr) return disown(*decoded);
  if (!comm->connecting || comm->connecting->replied) return;
  if (!decoded->message) {
    fail(*comm, foreign_handle(HandleFault::kVersion, decoded->version));
  } else if (decoded->message->verdict == Verdict::kRefused) {
    const std::string difference = disagreement(own_party(), decoded->message->party);
    fail(*comm, difference.empty() ? refused(*comm, Verdict::kRefused)
                                   : differs(host_, comm->peer->name, difference));
  } else if (decoded->message->verdict != Verdict::kAccepted) {
    fail(*comm, refused(*comm, decoded->message->verdict));
  } else {
    adopt_peer(*comm, *decoded->message);
  }
}

// The peer accepted a connection that we have given up: it must not wait for it.
void Engine::disown(const Versioned<ConnectReply>& decoded) {
  if (!decoded.message || decoded.message->verdict != Verdict::kAccepted) return;
  auto peer = peers_.find_or_add(rails_, decoded.message->party);
  if (!peer.ok()) return;
  rails_.front()->send_short(
      peer.value()->to[0], encode(Close{.to_receiver = true, .comm = decoded.message->recv_comm}));
  peers_.drop(rails_, *peer.value());
}

// Only now are all of the peer's rails known; both sides use as many as the smaller one has.
void Engine::adopt_peer(SendComm& comm, const ConnectReply& reply) {
  auto peer = peers_.find_or_add(rails_, reply.party);
  if (!peer.ok()) return fail(comm, peer.error());
  peers_.drop(rails_, *comm.peer);
  comm.peer = peer.value();
  comm.remote = reply.recv_comm;
  comm.rails = static_cast<std::uint32_t>(std::min(rails_.size(), reply.party.addresses.size()));
  comm.home = home_rail(comm.name, comm.rails);
  comm.pulled = is_pulled(own_party(), reply.party);
  comm.connecting->replied = true;
  const std::string difference = disagreement(own_party(), reply.party);
  if (difference.empty()) return;
  if (!settings_.must_agree) return warn_of_difference(*comm.peer, difference);
  fail(comm, differs(host_, comm.peer->name, difference));
  send_short(comm, encode(Close{.to_receiver = true, .comm = comm.remote}));  // it has accepted
}

// Once for each kind of difference: there may be thousands of peers, with as many connections.
void Engine::warn_of_difference(const Peer& peer, const std::string& difference) {
  constexpr std::size_t kMostKinds = 8;
  if (differences_.size() == kMostKinds || std::ranges::count(differences_, difference) != 0)
    return;
  differences_.push_back(difference);
  logger_.warn(
      "this side (host %s) and the peer (%s) differ: %s. The job runs, as the lesser side can; "
      "said once for all peers with this difference",
      host_.c_str(), peer.name.c_str(), difference.c_str());
}

}  // namespace fabrail::transport
