// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Opening, progress, and what happens to communicators whose peer or NIC fails.
#include "src/transport/engine.h"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "src/transport/clock.h"

namespace fabrail::transport {

/// Passes what a rail's poll finds to the engine, with the rail's number.
class Engine::Handler {
 public:
  Handler(Engine& engine, std::uint32_t rail) : engine_(engine), rail_(rail) {}
  // The rail calls these from inside poll(), which holds the mutex.
  void message(std::span<const std::byte> bytes) FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    engine_.on_message(rail_, bytes);
  }
  void arrived(std::uint64_t immediate, std::size_t length)
      FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    engine_.on_arrival(rail_, immediate, length);
  }
  bool completed(Op& op) FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    return engine_.on_completed(rail_, op);
  }
  void failed(Op& op, const fi_cq_err_entry& entry) FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    engine_.on_failed(rail_, op, entry);
  }
  void lost(const fi_cq_err_entry& entry) FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    engine_.on_lost(rail_, entry);
  }

 private:
  Engine& engine_;
  std::uint32_t rail_;
};

Engine::~Engine() {
  if (settings_.state != nullptr) settings_.state->engines[settings_.number].store(nullptr);
}

Result<std::unique_ptr<Engine>> Engine::open(const fabric::Library& library,
                                             std::span<const fabric::Nic* const> nics,
                                             const EngineSettings& settings, const Logger& logger,
                                             fabrail_counters_t& counters) {
  std::unique_ptr<Engine> engine(new Engine(settings, logger, counters));
  for (const fabric::Nic* nic : nics) {
    FR_TRY_ASSIGN(auto rail, engine->open_rail(library, *nic));
    if (rail->endpoint().address().size() > kMaxAddressBytes) {
      return make_error(Code::kUnsupported, 0,
                        "addresses of provider %s have %zu bytes, %zu fit into NCCL's handle",
                        nic->provider.c_str(), rail->endpoint().address().size(), kMaxAddressBytes);
    }
    engine->rails_.push_back(std::move(rail));
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  engine->reserve();
  engine->memory_ = std::make_unique<MrCache>(engine->rails_, page);
  if (settings.state != nullptr) settings.state->engines[settings.number].store(engine.get());
  return engine;
}

Result<std::unique_ptr<Rail>> Engine::open_rail(const fabric::Library& library,
                                                const fabric::Nic& nic) const {
  FR_TRY_ASSIGN(auto rail, Rail::open(library, nic, counters_));
  if (settings_.device.driver != nullptr) FR_TRY(rail->open_loopback());
  return rail;
}

void Engine::leave() const noexcept {
  for (const auto& rail : rails_) rail->endpoint().unlink_shared_memory();
}

// Room for what the data path puts here, so that it need not allocate. Who asked before we were
// there got an answer from others.
void Engine::reserve() {
  const MutexLock lock(mutex_);
  if (settings_.state != nullptr) told_ = StateAnswers::due(*settings_.state);
  announcements_.reserve(kMaxAnnouncements + kMaxGroup);
  troubles_.resize(rails_.size());
}

void Engine::poll(std::uint32_t rails) {
  while (rails != 0) {
    const auto rail = static_cast<std::uint32_t>(std::countr_zero(rails));
    rails &= rails - 1;
    rails_[rail]->poll(Handler(*this, rail));
  }
}

std::uint32_t Engine::group_size(const Request& request) {
  if (request.kind == RequestKind::kFlush) return 0;
  return request.kind == RequestKind::kSend ? 1 : static_cast<const RecvSlot&>(request).group_size;
}

// Whoever progresses now does it for all: another thread's test() comes back with "not done" at
// once.
Result<bool> Engine::test(Request& request, std::span<std::uint32_t> sizes)
    FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
  if (!mutex_.try_lock()) return false;
  struct Unlock {
    Mutex& mutex;
    ~Unlock() FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) { mutex.unlock(); }
  } const unlock{mutex_};  // also if something throws
  return test_locked(request, sizes);
}

namespace {

// The rails on which the completion of this request can show up.
std::uint32_t rails_of(const Request& request) {
  const Comm& comm = *request.comm;
  const std::uint32_t home = 1u << comm.home;
  if (request.kind == RequestKind::kSend)
    return home | static_cast<const SendRequest&>(request).rails;
  if (request.kind == RequestKind::kFlush) return static_cast<const FlushRequest&>(request).rails;
  const auto& slot = static_cast<const RecvSlot&>(request);
  if (slot.group_size == 1 && slot.capacity <= kHomeBytes) return home;
  return static_cast<std::uint32_t>((std::uint64_t{1} << comm.rails) - 1);
}

}  // namespace

void Engine::poll_in_turn(const Request& request) {
  std::uint32_t rails = rails_of(request);
  for (std::uint32_t rest = rails; rest != 0; rest &= rest - 1) {
    const auto rail = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (!rails_[rail]->is_turn_of(&request)) rails &= ~(1u << rail);
  }
  poll(rails);
}

Result<bool> Engine::test_locked(Request& request, std::span<std::uint32_t> sizes) {
  Comm& comm = *request.comm;
  if (announcements_due_) send_announcements();
  if (!request.done && !comm.error) poll_in_turn(request);
  if (!request.done && comm.pulled) keep_pulling(comm);
  if (!request.done && comm.kind == CommKind::kRecv)
    keep_own_ops(static_cast<RecvComm&>(comm), request);
  // A flush needs the peer no more.
  if (!request.done && comm.peer_closed && request.kind == RequestKind::kRecv)
    check_closed(static_cast<RecvComm&>(comm));
  if (!request.done) {
    if (comm.error) return sticky(comm);
    watch(comm);
    if (comm.error) return sticky(comm);
    return false;
  }
  if (keeps_news(comm) || is_needed()) return false;
  return_request(comm);
  if (request.kind == RequestKind::kRecv) {
    release_group(static_cast<RecvComm&>(comm), static_cast<RecvSlot&>(request), sizes);
    return true;
  }
  if (request.kind == RequestKind::kFlush) {
    static_cast<FlushRequest&>(request).used = false;
    return true;
  }
  auto& send = static_cast<SendRequest&>(request);
  if (!sizes.empty()) sizes[0] = send.bytes;
  static_cast<SendComm&>(comm).release(send);
  return true;
}

void Engine::fail(Comm& comm, const Error& error) {
  if (!comm.error) comm.error = std::make_unique<Error>(error);
}

// A sender needs its peer at once; a receiver may still get what was sent before.
void Engine::suspect(Comm& comm, const Error& error) {
  if (comm.kind == CommKind::kSend) return fail(comm, error);
  if (!comm.suspicion) comm.suspicion = std::make_unique<Error>(error);
}

Error Engine::sticky(Comm& comm) {
  const Error error = *comm.error;
  comm.error->reported = true;
  return error;
}

void Engine::peer_died(Peer& peer, const char* proof) {
  peer.dead = true;
  const Error error = make_error(
      Code::kRemote, 0, "the peer (%s) is gone: %s. Look for the first error in its own log",
      peer.name.c_str(), proof);
  suspect_all(peer, error);
  for (std::uint32_t rail = 0; rail < peer.rails; ++rail) rails_[rail]->drop_shorts(peer.to[rail]);
}

void Engine::suspect_all(Peer& peer, const Error& error) {
  const auto fail_comm = [&](Comm& comm) FR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    if (comm.peer == &peer) suspect(comm, error);
  };
  senders_.for_each(fail_comm);
  receivers_.for_each(fail_comm);
}

// Called when a test found nothing. The clock is read only every 16th time.
void Engine::watch(Comm& comm) {
  if (++fruitless_tests_ % kPatience == 0 && !announcements_.empty()) announcements_due_ = true;
  constexpr std::uint32_t kPollsPerLook = 16;
  constexpr std::uint32_t kDrainingTests = 256;
  if (comm.suspicion && ++comm.fruitless > kDrainingTests) return fail(comm, *comm.suspicion);
  if (++comm.idle_polls % kPollsPerLook != 0) return;
  const std::int64_t now = now_ms();
  answer_state_requests(now);
  look_for_trouble(comm);
  if (!comm.waiting) return start_waiting(comm, now);
  if (now >= comm.stall_due_ms) report_stalls(comm, now);
  check_trouble(comm, now);
  if (settings_.probe_ms > 0 && now - comm.probed_ms >= settings_.probe_ms) probe(comm, now);
  if (settings_.timeout_ms > 0 && now - comm.waiting_since_ms >= settings_.timeout_ms) {
    fail(comm,
         make_error(
             Code::kRemote, 0,
             "nothing moved for %lld s (FABRAIL_TIMEOUT_S) on a communicator with the peer (%s)",
             static_cast<long long>(settings_.timeout_ms / 1000), comm.peer->name.c_str()));
  }
}

// A short message that nobody waits for did not arrive. That is no news if its receiver is gone.
void Engine::on_lost(std::uint32_t rail, const fi_cq_err_entry& entry) {
  const fabric::Endpoint& endpoint = rails_[rail]->endpoint();
  if (endpoint.is_gone(entry)) return;
  note_trouble(rail, make_error(Code::kRemote, entry.err, "a control message on NIC %s failed: %s",
                                endpoint.nic().name.c_str(), endpoint.error_text(entry).c_str()));
}

void Engine::note_trouble(std::uint32_t rail, const Error& error) {
  Trouble& trouble = troubles_[rail];
  if (!trouble.error) {
    logger_.warn("%s. Communicators that wait for it will fail, if there are any", error.detail);
  }
  trouble.error = error;
  messages_lost_ = true;
  trouble.seen_ms = now_ms();
}

void Engine::look_for_trouble(const Comm& comm) {
  for (std::uint32_t rail = 0; rail < comm.rails; ++rail) {
    while (const auto error = rails_[rail]->endpoint().take_event()) note_trouble(rail, *error);
  }
}

constexpr std::int64_t kSettlingMs = 1000;

// What was lost is waited for in vain. Whom that concerns is not known: those that waited at that
// time, and wait still.
void Engine::check_trouble(Comm& comm, std::int64_t now) {
  for (std::uint32_t rail = 0; rail < comm.rails; ++rail) {
    const Trouble& trouble = troubles_[rail];
    if (!trouble.error || settings_.probe_ms == 0) continue;
    // What else was under way then may have come in meanwhile.
    if (comm.waiting_since_ms > trouble.seen_ms + kSettlingMs) continue;
    if (now - std::max(trouble.seen_ms, comm.waiting_since_ms) < settings_.probe_ms) continue;
    return fail(comm, make_error(Code::kRemote, trouble.error->native,
                                 "%s; nothing came from the peer (%s) since then",
                                 trouble.error->detail, comm.peer->name.c_str()));
  }
}

// A message that nobody reads: it fails if the peer is gone, and waits as we do if the peer is only
// slow.
void Engine::probe(Comm& comm, std::int64_t now) {
  comm.probed_ms = now;
  Peer& peer = *comm.peer;
  peer.ended = peer.ended || has_ended(peer.identity, identity_);
  if (peer.dead || peer.ended) return peer_died(peer, "its process has ended");
  if (peer.probing) return;
  Op* op = take_op(comm.home, OpKind::kProbe, peer);
  if (op == nullptr) return;
  const ShortMessage message = encode(Probe{});
  std::copy_n(message.data.begin(), message.bytes, op->bounce);
  op->bytes = message.bytes;
  peer.probing = true;
  if (const Status sent = submit(comm.home, *op); !sent.ok()) {
    peer.probing = false;
    peer_died(peer, sent.error().detail);
  }
}

Op* Engine::take_op(std::uint32_t rail, OpKind kind, Peer& peer) {
  Op* op = rails_[rail]->take_op();
  if (op == nullptr) return nullptr;
  op->kind = kind;
  op->comm = 0;
  op->reply = false;
  op->notice = false;
  op->announces = 0;
  op->slot = 0;
  op->request = nullptr;
  op->flushed = nullptr;
  op->peer = &peer;
  op->to = peer.to[rail];
  const bool has_message =
      kind != OpKind::kWrite && kind != OpKind::kRead && kind != OpKind::kFlush;
  if (has_message) {
    op->bounce = rails_[rail]->take_bounce();
    if (op->bounce == nullptr) {
      rails_[rail]->release(*op);
      return nullptr;
    }
  }
  ++peer.users;
  return op;
}

void Engine::give_up(std::uint32_t rail, Op& op) {
  peers_.drop(rails_, *op.peer);
  rails_[rail]->release(op);
}

// An operation that the provider refuses for good is released here.
Status Engine::submit(std::uint32_t rail, Op& op) {
  const std::int64_t rc = rails_[rail]->submit(op);
  if (rc == 0) return {};
  fi_cq_err_entry entry{};
  entry.err = static_cast<int>(-rc);
  const Error error = op_error(rail, op, entry);
  give_up(rail, op);
  return error;
}

void Engine::send_short(Comm& comm, const ShortMessage& message) {
  if (comm.peer->dead) return;
  rails_[comm.home]->send_short(comm.peer->to[comm.home], message);
}

Error Engine::op_error(std::uint32_t rail, const Op& op, const fi_cq_err_entry& entry) const {
  const fabric::Endpoint& endpoint = rails_[rail]->endpoint();
  if (op.kind == OpKind::kPlace || op.kind == OpKind::kFlush) {
    return make_error(Code::kSystem, entry.err,
                      "%s GPU memory of this process by NIC %s itself failed: %s",
                      op.kind == OpKind::kPlace ? "writing to" : "reading (to flush)",
                      endpoint.nic().name.c_str(), endpoint.error_text(entry).c_str());
  }
  const char* what = op.kind == OpKind::kWrite   ? "writing"
                     : op.kind == OpKind::kRead  ? "reading"
                     : op.kind == OpKind::kSend  ? "sending"
                     : op.kind == OpKind::kProbe ? "probing with"
                                                 : "a control message of";
  return make_error(Code::kRemote, entry.err,
                    "%s %zu bytes %s the peer (%s) on NIC %s failed: %s. Its process may have "
                    "ended, or the network "
                    "between the two is closed (security group, subnet, cable)",
                    what, op.bytes, op.kind == OpKind::kRead ? "from" : "to", op.peer->name.c_str(),
                    endpoint.nic().name.c_str(), endpoint.error_text(entry).c_str());
}

}  // namespace fabrail::transport
