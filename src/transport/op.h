// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What libfabric hands back with a completion: a posted operation or a receive buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rdma/fabric.h>

#include "src/transport/backoff.h"

namespace fabrail::transport {

struct Peer;
struct Registration;
struct SendRequest;

enum class OpKind : std::uint8_t {
  kReceive,  ///< a control buffer waiting for a message
  kWrite,    ///< one stripe of payload, on its way to the receiver
  kRead,     ///< one stripe of payload that the receiver fetches
  kSend,     ///< a message that completes a send request: eager payload, or no bytes
  kControl,  ///< a control message too long to inject
  kConnect,  ///< a connection request or reply: its failure ends that connection attempt
  kProbe,    ///< nothing but the question whether the peer is there
  kPlace,    ///< a small message, on its way from a bounce buffer of ours into our GPU's memory
  kFlush,    ///< a read of our GPU's memory, which pushes what this NIC wrote there
};

/// Whether it goes into a buffer that the peer has posted, not to an address.
constexpr bool is_message(OpKind kind) {
  return kind == OpKind::kSend || kind == OpKind::kControl || kind == OpKind::kConnect ||
         kind == OpKind::kProbe;
}

/// What every operation starts with, so that a completion's context tells which it is.
struct Context {
  fi_context2 fabric{};  ///< libfabric's while the operation is posted
  OpKind kind = OpKind::kReceive;
};

/// Whether the operation is a receive communicator's.
constexpr bool is_receivers(OpKind kind, bool reply) {
  return kind == OpKind::kControl || kind == OpKind::kRead || kind == OpKind::kPlace ||
         kind == OpKind::kFlush || reply;
}

/// Stands for no communicator: larger than any key.
constexpr std::uint32_t kNobody = ~0u;

/// A posted operation, or one that waits for room in the provider's queue. Belongs to its rail, not
/// to the communicator that caused it: a completion may come after that one is closed.
struct Op : Context {
  std::uint32_t comm =
      0;  ///< key of the send communicator (kConnect reply, kControl, kRead: of the receiving one)
  bool reply = false;      ///< kConnect: this is the listener's answer
  bool notice = false;     ///< kWrite: without data; a message tells the receiver afterwards
  std::uint16_t slot = 0;  ///< kRead, kPlace: of the receive; kFlush: of the flush
  /// Bytes of announcements in front of its message, possibly of several communicators.
  std::uint16_t announces = 0;
  SendRequest* request = nullptr;   ///< valid only while `comm` is
  Registration* flushed = nullptr;  ///< kFlush: what is read; valid only while `comm` is
  Peer* peer = nullptr;
  std::byte* bounce = nullptr;  ///< transmit buffer that goes back with the operation
  // What was posted, kept for another try.
  const std::byte* data = nullptr;
  void* descriptor = nullptr;
  std::size_t bytes = 0;
  fi_addr_t to = FI_ADDR_UNSPEC;
  std::uint64_t remote_address = 0;
  std::uint64_t remote_key = 0;
  std::uint64_t immediate = 0;
  Backoff backoff;  ///< while it waits for room
  Op* next = nullptr;
};

struct ReceiveBuffer : Context {
  std::byte* data = nullptr;
  ReceiveBuffer* next = nullptr;
};

}  // namespace fabrail::transport
