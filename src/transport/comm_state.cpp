// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/comm_state.h"

#include <cstdio>

namespace fabrail::transport {

namespace {

const char* kind_text(CommKind kind) {
  switch (kind) {
    case CommKind::kListen:
      return "listener";
    case CommKind::kSend:
      return "send communicator";
    case CommKind::kRecv:
      break;
  }
  return "receive communicator";
}

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string name_text(CommName name) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", name);
  return text;
}

std::string awaited_message(const CommState& state) {
  std::string text = "waits for the peer to send message " + std::to_string(state.sequence) +
                     " (tag " + std::to_string(state.tag) + "): ";
  if (state.stripes == 0) return text + "nothing of it has come";
  text += std::to_string(state.stripes);
  if (state.expected != 0) text += " of " + std::to_string(state.expected);
  return text + " stripes have come";
}

std::string awaited_completion(const CommState& state) {
  std::string text = "waits for the completion of " + counted(state.operations, "operation");
  if (state.needs_peers_test) text += ", for which the peer may have to call test()";
  return text;
}

std::string waits_text(const CommState& state) {
  switch (state.waits_for) {
    case WaitsFor::kNothing:
      return "idle";
    case WaitsFor::kConnectRequest:
      return "waits for a peer to connect";
    case WaitsFor::kConnectReply:
      return "waits for the peer to accept the connection (if it does: may the two nodes talk, "
             "security group, subnet, firewall?)";
    case WaitsFor::kReplySent:
      return "waits for its answer to the peer's connection request to arrive there";
    case WaitsFor::kReceive:
      return "waits for the peer to post the receive for message " +
             std::to_string(state.sequence) + " (CTS)";
    case WaitsFor::kOwnSend:
      return "the receive for message " + std::to_string(state.sequence) +
             " is posted, but isend could not take it: its tag is another, the keys of its memory "
             "have not come, or there is no room for more operations";
    case WaitsFor::kCompletion:
      return awaited_completion(state);
    case WaitsFor::kFetch:
      return "waits for the peer to fetch " + counted(state.operations, "message");
    case WaitsFor::kMessage:
      return awaited_message(state);
    case WaitsFor::kReads:
      return "waits for " + counted(state.operations, "read") + " of the peer's memory";
    case WaitsFor::kOwnNic:
      return "waits for its own NIC to finish " + counted(state.operations, "operation") +
             " on GPU memory";
    case WaitsFor::kOwnTest:
      break;
  }
  return "has done what was asked, and waits for test()";
}

std::string place_text(const CommState& state) {
  std::string text = std::string(kind_text(state.kind)) + " " + name_text(state.name);
  if (!state.peer.empty()) {
    text += " with " + name_text(state.remote) + " of the peer (" + state.peer + ")";
  }
  return text + ", " + counted(state.rails, "rail") + " (" + state.nics + ")";
}

std::string queued_text(const CommState& state) {
  if (state.queued == 0) return {};
  return "; libfabric has not taken " + counted(state.queued, "operation") +
         " (its queue is full, or it is not connected to the peer yet)";
}

std::string count_text(const CommState& state) {
  if (state.kind == CommKind::kListen) return {};
  const std::string open =
      counted(state.requests, "request") + " open (" + counted(state.bytes, "byte") + ")";
  if (state.kind == CommKind::kRecv) {
    return "; " + counted(state.messages, "message") + " arrived, " + open;
  }
  return "; " + counted(state.messages, "message") + " started, " + std::to_string(state.finished) +
         " delivered, " + open;
}

}  // namespace

std::string duration_text(std::int64_t ms) {
  constexpr std::int64_t kSecond = 1000;
  constexpr std::int64_t kMinute = 60 * kSecond;
  constexpr std::int64_t kHour = 60 * kMinute;
  if (ms < 5 * kMinute) return std::to_string(ms / kSecond) + " s";
  if (ms < 5 * kHour) return std::to_string(ms / kMinute) + " min";
  return std::to_string(ms / kHour) + " h";
}

std::string describe(const CommState& state) {
  std::string text = place_text(state) + ": ";
  if (!state.error.empty()) return text + "failed: " + state.error;
  text += waits_text(state) + queued_text(state) + count_text(state);
  if (state.still_ms >= 0) text += "; nothing moves for " + duration_text(state.still_ms);
  return text;
}

}  // namespace fabrail::transport
