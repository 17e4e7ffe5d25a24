// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What stands still, and since when: told to the user from within NCCL's own calls that find
// nothing to do.
#include <algorithm>
#include <bit>
#include <ctime>
#include <limits>

#include "src/transport/clock.h"
#include "src/transport/engine.h"

namespace fabrail::transport {

namespace {

// When a job stands still, all of its communicators do: those that have waited longest tell enough.
constexpr std::size_t kLinesPerReport = 4;
constexpr std::int64_t kLongestPauseMs = std::int64_t{3600} * 1000;

// Whether data moves only while the process at the other end calls libfabric.
bool may_need_peers_test(const fabric::Endpoint& endpoint) {
  if (endpoint.caps().emulates_rdma) return !endpoint.writes_natively();
  return endpoint.nic().info->domain_attr->data_progress == FI_PROGRESS_MANUAL;
}

// Time of day, by which the logs of different hosts can be compared.
std::string time_of_day(std::int64_t ms_ago) {
  const std::time_t then = std::time(nullptr) - static_cast<std::time_t>(ms_ago / 1000);
  std::tm parts{};
  gmtime_r(&then, &parts);
  char text[32] = "";
  std::strftime(text, sizeof text, "%H:%M:%S UTC", &parts);
  return text;
}

}  // namespace

void Engine::start_waiting(Comm& comm, std::int64_t now) {
  if (comm.stall_reported) {
    logger_.info("moves again after %s: %s", duration_text(now - comm.waiting_since_ms).c_str(),
                 describe(state_of(comm, now)).c_str());
  }
  comm.waiting = true;
  comm.waiting_since_ms = now;
  comm.probed_ms = now;
  comm.stall_reported = false;
  comm.stall_due_ms =
      settings_.stall_ms > 0 ? now + settings_.stall_ms : std::numeric_limits<std::int64_t>::max();
}

// For calls that set connections up: they are not counted, and look each time.
void Engine::watch_connection(Comm& comm, std::int64_t now) {
  answer_state_requests(now);
  if (!comm.waiting) return start_waiting(comm, now);
  if (now >= comm.stall_due_ms) report_stalls(comm, now);
}

// One report for all communicators of the device that are due about now.
void Engine::report_stalls(Comm& comm, std::int64_t now) {
  if (now < stalls_quiet_until_ms_) {
    comm.stall_due_ms = stalls_quiet_until_ms_;
    return;
  }
  stalls_quiet_until_ms_ = now + settings_.stall_ms;
  const std::vector<Comm*> stalled = take_stalled(now);
  for (std::size_t i = 0; i < std::min(stalled.size(), kLinesPerReport); ++i) {
    const std::int64_t still_ms = now - stalled[i]->waiting_since_ms;
    logger_.warn("stalled since %s: %s", time_of_day(still_ms).c_str(),
                 describe(state_of(*stalled[i], now)).c_str());
  }
  if (stalled.size() > kLinesPerReport) {
    logger_.warn("stalled as well: %zu more on this device", stalled.size() - kLinesPerReport);
  }
}

// Longest first. Each is due again after as long as it has stood still already.
std::vector<Comm*> Engine::take_stalled(std::int64_t now) {
  std::vector<Comm*> stalled = all_comms();
  std::erase_if(stalled, [&](const Comm* comm) {
    return !comm->waiting || comm->error || comm->stall_due_ms - now > settings_.stall_ms / 2;
  });
  for (Comm* comm : stalled) {
    comm->stall_reported = true;
    comm->stall_due_ms = now + std::min(now - comm->waiting_since_ms, kLongestPauseMs);
  }
  return stalled;
}

// What stands still first, and of that what has stood still longest.
std::vector<Comm*> Engine::all_comms() {
  std::vector<Comm*> comms;
  const auto add = [&](Comm& comm) { comms.push_back(&comm); };
  listeners_.for_each(add);
  senders_.for_each(add);
  receivers_.for_each(add);
  std::stable_sort(comms.begin(), comms.end(), [](const Comm* a, const Comm* b) {
    if (a->waiting != b->waiting) return a->waiting;
    return a->waiting && a->waiting_since_ms < b->waiting_since_ms;
  });
  return comms;
}

// Whoever sees the request answers for the devices that nobody calls, too.
void Engine::answer_state_requests(std::int64_t now) {
  StateRequests* requests = settings_.state;
  if (requests == nullptr || StateAnswers::due(*requests) == told_) return;
  tell_state(now);
  for (auto& entry : requests->engines) {
    Engine* other = entry.load();
    // One that is in use sees for itself.
    if (other == nullptr || other == this || !other->mutex_.try_lock()) continue;
    other->tell_state(now);
    other->mutex_.unlock();
  }
}

void Engine::tell_state(std::int64_t now) {
  const StateAnswers due = StateAnswers::due(*settings_.state);
  if (due == told_) return;
  const std::vector<std::string> lines = state_lines(now);
  if (due.asked != told_.asked) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    settings_.state->answer(settings_.number, due.asked, text);
  }
  if (due.signals != told_.signals) {
    // Asked for, so it must be seen; NCCL shows less without NCCL_DEBUG=INFO.
    for (const std::string& line : lines) logger_.warn("%s", line.c_str());
  }
  told_ = due;
}

std::vector<std::string> Engine::state_lines(std::int64_t now) {
  const std::vector<Comm*> comms = all_comms();
  const auto waiting = static_cast<std::size_t>(
      std::ranges::count_if(comms, [](const Comm* comm) { return comm->waiting; }));
  std::string head = "device " + std::to_string(settings_.number) + " (" +
                     nic_names(static_cast<std::uint32_t>(rails_.size())) +
                     "): " + std::to_string(senders_.size()) + " send and " +
                     std::to_string(receivers_.size()) + " receive communicators, " +
                     std::to_string(listeners_.size()) + " listeners; " + std::to_string(waiting) +
                     " of them wait";
  if (waiting != 0) head += ", longest " + duration_text(now - comms.front()->waiting_since_ms);
  std::vector<std::string> lines = {head};
  for (const Comm* comm : comms) lines.push_back("  " + describe(state_of(*comm, now)));
  return lines;
}

std::string Engine::nic_names(std::uint32_t rails) const {
  std::string names;
  for (std::uint32_t rail = 0; rail < std::min<std::size_t>(rails, rails_.size()); ++rail) {
    names += (names.empty() ? "" : " ") + rails_[rail]->endpoint().nic().name;
  }
  return names;
}

std::uint32_t Engine::waiting_ops(const Comm& comm) {
  const bool receiver = comm.kind == CommKind::kRecv;
  std::uint32_t count = 0;
  for (const auto& rail : rails_) {
    count += rail->count_waiting([&](const Op& op) {
      return op.comm == comm.key && is_receivers(op.kind, op.reply) == receiver &&
             op.kind != OpKind::kProbe;
    });
  }
  return count;
}

CommState Engine::state_of(const Comm& comm, std::int64_t now) {
  CommState state{.kind = comm.kind,
                  .name = comm.kind == CommKind::kListen ? comm.key : comm.name,
                  .remote = comm.remote,
                  .peer = comm.peer != nullptr ? comm.peer->name : std::string{},
                  .nics = nic_names(comm.rails),
                  .rails = comm.rails,
                  .needs_peers_test = may_need_peers_test(rails_.front()->endpoint()),
                  .requests = comm.outstanding,
                  .queued = comm.kind == CommKind::kListen ? 0 : waiting_ops(comm),
                  .still_ms = comm.waiting ? now - comm.waiting_since_ms : -1,
                  .error = comm.error ? std::string(comm.error->text()) : std::string{}};
  if (comm.kind == CommKind::kListen) {
    state.waits_for = WaitsFor::kConnectRequest;
  } else if (comm.kind == CommKind::kSend) {
    describe_sender(static_cast<const SendComm&>(comm), state);
  } else {
    describe_receiver(static_cast<const RecvComm&>(comm), state);
  }
  return state;
}

void Engine::describe_sender(const SendComm& comm, CommState& state) {
  state.messages = comm.messages;
  state.finished = comm.delivered;
  state.sequence = comm.window.head();
  comm.for_each_request([&](const SendRequest& request) { state.bytes += request.bytes; });
  if (comm.connecting) {
    state.waits_for = WaitsFor::kConnectReply;
  } else if (comm.offers != 0) {
    state.waits_for = WaitsFor::kFetch;
    state.operations = comm.offers;
  } else if (comm.ops != 0) {
    state.waits_for = WaitsFor::kCompletion;
    state.operations = comm.ops;
  } else if (comm.waiting) {
    state.waits_for = comm.window.head_known() ? WaitsFor::kOwnSend : WaitsFor::kReceive;
  }
}

void Engine::describe_receiver(const RecvComm& comm, CommState& state) {
  state.messages = comm.messages;
  state.sequence = comm.next;
  const RecvSlot* next = nullptr;
  for (std::uint32_t sequence = comm.tail; sequence != comm.next; ++sequence) {
    const RecvSlot& slot = comm.slots[sequence % kWindow];
    if (!slot.posted || slot.complete) continue;
    state.bytes += slot.capacity;
    if (next != nullptr) continue;
    next = &slot;
    state.sequence = sequence;
    state.tag = slot.tag;
    state.stripes = static_cast<std::uint32_t>(std::popcount(slot.stripes));
    state.expected = slot.expected;
  }
  if (!comm.replied) {
    state.waits_for = WaitsFor::kReplySent;
  } else if (comm.pulling && comm.pulling->reads != 0) {
    state.waits_for = WaitsFor::kReads;
    state.operations = comm.pulling->reads;
  } else if (comm.own_ops != 0) {
    state.waits_for = WaitsFor::kOwnNic;
    state.operations = comm.own_ops;
  } else if (next != nullptr) {
    state.waits_for = WaitsFor::kMessage;
  } else if (comm.next != comm.tail) {
    state.waits_for = WaitsFor::kOwnTest;
  }
}

}  // namespace fabrail::transport
