// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What one communicator is doing, as a value and in words: what a stall report and a dump consist
// of. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "src/transport/comm.h"

namespace fabrail::transport {

/// What has to happen next for a communicator to move.
enum class WaitsFor : std::uint8_t {
  kNothing,         ///< no request is open
  kConnectRequest,  ///< listener: a peer that connects
  kConnectReply,    ///< connector: the peer's accept
  kReplySent,       ///< listener: its answer leaves
  kReceive,         ///< sender: the peer posts the receive (CTS)
  kOwnSend,         ///< sender: an isend that can take the receive that is announced
  kCompletion,      ///< libfabric says that it is done
  kFetch,           ///< sender: the peer reads what was offered
  kMessage,         ///< receiver: the peer sends
  kReads,           ///< receiver: its own reads of the peer's memory
  kOwnNic,          ///< receiver: its own NIC, which moves small messages to the GPU and flushes
  kOwnTest,         ///< NCCL tests the request, which is done
};

/// A communicator at one moment.
struct CommState {
  CommKind kind = CommKind::kListen;
  CommName name = 0;
  CommName remote = 0;
  std::string peer;  ///< empty: not known yet
  std::string nics;  ///< of its rails
  std::uint32_t rails = 1;
  WaitsFor waits_for = WaitsFor::kNothing;
  bool needs_peers_test = false;  ///< data may move only while the peer calls it
  std::uint64_t messages = 0;     ///< started by a sender, arrived at a receiver
  std::uint64_t finished = 0;     ///< of a sender's, completed
  std::uint32_t requests = 0;     ///< open ones
  std::uint64_t bytes = 0;        ///< of these, what they may carry
  std::uint32_t sequence = 0;     ///< of the receive that is next
  std::int32_t tag = 0;           ///< of that receive
  std::uint32_t operations = 0;   ///< what kCompletion, kFetch, kReads and kOwnNic wait for
  std::uint32_t queued = 0;       ///< operations that libfabric has not taken yet
  std::uint32_t stripes = 0;      ///< arrived of that receive
  std::uint32_t expected = 0;     ///< its stripes, if known
  std::int64_t still_ms = -1;     ///< since when nothing moves; negative: it moves, or is idle
  std::string error;              ///< why it is of no use any more
};

/// One line without a line end.
std::string describe(const CommState& state);

/// `3 s`, `7 min`, `6 h`.
std::string duration_text(std::int64_t ms);

}  // namespace fabrail::transport
