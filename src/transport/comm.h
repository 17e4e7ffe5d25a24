// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What NCCL holds: listeners, communicators of either direction, registrations and requests. Plain
// data; the engine's functions work on them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "src/transport/cts_window.h"
#include "src/transport/eager_order.h"
#include "src/transport/messages.h"
#include "src/transport/mr_cache.h"
#include "src/transport/peer.h"

namespace fabrail::transport {

class Engine;
struct Comm;

/// NCCL's mhandle: one communicator's use of a registered range.
struct Registration {
  Comm* comm = nullptr;
  RegisteredRange* range = nullptr;
  std::list<Registration>::iterator self;
  std::uint32_t in_flight = 0;  ///< stripes posted from it, receives posted into it, flushing reads
  std::uint32_t region = 0;     ///< what the peer calls it, once announced
  bool announced = false;
};

/// Names for our own regions: index and generation, so that a late message about an old region is
/// not taken for one about its successor.
class RegionNames {
 public:
  std::optional<std::uint32_t> take();
  void give_back(std::uint32_t id);

 private:
  std::vector<std::uint16_t> generations_;
  std::vector<std::uint16_t> free_;
};

enum class CommKind : std::uint8_t { kListen, kSend, kRecv };

/// What a communicator of either direction has.
struct Comm {
  Comm(CommKind comm_kind, Engine& owner) : kind(comm_kind), engine(owner) {}

  CommKind kind;
  Engine& engine;
  std::uint32_t key = 0;  ///< in the engine's slot map of its kind
  CommName name = 0;      ///< what the peer calls it
  CommName remote = 0;    ///< what it calls the peer's end
  Peer* peer = nullptr;
  std::uint32_t rails = 1;       ///< rails used, the smaller number of the two sides
  std::uint32_t home = 0;        ///< rail of control and small messages
  std::unique_ptr<Error> error;  ///< the first; every later call returns it
  /// Why the peer seems to be gone. It becomes the error once tests find nothing: what the peer
  /// sent before may still lie in a queue, or be waiting for its receive.
  std::unique_ptr<Error> suspicion;
  std::uint32_t fruitless = 0;  ///< tests since then that found nothing
  std::list<Registration> registrations;
  RegionNames region_names;       ///< of registrations that the peer knows
  bool pulled = false;            ///< large messages are read by the receiver
  std::uint32_t outstanding = 0;  ///< requests that are not complete
  std::uint32_t unreturned = 0;   ///< requests that NCCL has not got back, complete or not
  std::uint32_t idle_polls = 0;
  std::int64_t waiting_since_ms = 0;
  std::int64_t probed_ms = 0;
  std::int64_t stall_due_ms = 0;  ///< when standing still is to be reported (next)
  bool stall_reported = false;
  bool waiting = false;  ///< waiting_since_ms and what follows from it are valid
  bool peer_closed = false;
};

enum class RequestKind : std::uint8_t { kSend, kRecv, kFlush };

/// NCCL's request.
struct Request {
  RequestKind kind = RequestKind::kSend;
  bool done = false;
  Comm* comm = nullptr;
};

struct SendRequest : Request {
  std::uint32_t bytes = 0;
  std::uint32_t ops = 0;    ///< operations not completed
  std::uint32_t rails = 0;  ///< bit for each rail with one
  bool offered = false;     ///< waits for the receiver to fetch it
  Registration* registration = nullptr;
  SendRequest* next = nullptr;
};

/// One posted receive; the first of a group is also the group's request.
struct RecvSlot : Request {
  std::byte* data = nullptr;
  Registration* registration = nullptr;
  std::int32_t tag = 0;
  std::uint32_t capacity = 0;
  std::uint32_t received = 0;
  std::uint32_t stripes = 0;  ///< bit for each stripe that arrived
  std::uint8_t expected = 0;  ///< number of stripes; 0 until the last one tells
  std::uint8_t group_size = 0;
  std::uint8_t group_index = 0;
  std::uint8_t remaining = 0;  ///< first of a group: receives not complete
  bool posted = false;
  bool complete = false;
  bool eager = false;       ///< filled by an eager message
  std::uint32_t rails = 0;  ///< bit for each rail that wrote into it
  std::int32_t held = -1;   ///< where a message is kept that had no room to leave for the GPU yet
  std::uint32_t held_bytes = 0;
};

/// What makes receives into GPU memory visible to its kernels.
struct FlushRequest : Request {
  /// One of the receives, and the rails on which its read is still to be posted.
  struct Target {
    Registration* registration = nullptr;
    std::uint64_t address = 0;  ///< as peers would name it
    std::uint32_t unposted = 0;
  };

  std::array<Target, kMaxGroup> targets;
  std::uint32_t count = 0;
  std::uint32_t ops = 0;    ///< reads not complete
  std::uint32_t rails = 0;  ///< bit for each rail with one
  std::uint16_t index = 0;  ///< among the communicator's
  bool used = false;
};

/// Requests that a send communicator may have at a time: 32 for each of 8 grouped receives.
constexpr std::uint32_t kSendRequests = 32 * kMaxGroup;

/// The peer's memory regions, by the index in their ids.
class RemoteRegions {
 public:
  struct Entry {
    std::uint32_t id = 0;
    bool known = false;
    std::uint64_t base = 0;
    std::uint64_t length = 0;
    std::vector<std::uint64_t> keys;
  };

  /// Regions that one communicator can know; NCCL uses a handful.
  static constexpr std::uint32_t kMax = 4096;
  static std::uint32_t index_of(std::uint32_t id) { return id & 0xffff; }

  bool learn(const Region& message);
  [[nodiscard]] const Entry* find(std::uint32_t id) const;

 private:
  std::vector<Entry> entries_;
};

/// A connection attempt that has no answer yet.
struct Connecting {
  std::int64_t deadline_ms = 0;  ///< 0: none
  std::int64_t next_check_ms = 0;
  bool replied = false;
};

struct SendComm : Comm {
  explicit SendComm(Engine& owner);

  [[nodiscard]] bool has_request() const { return free_ != nullptr; }
  SendRequest* take_request();
  void release(SendRequest& request);
  [[nodiscard]] std::uint16_t index_of(const SendRequest& request) const {
    return static_cast<std::uint16_t>(&request - requests_.data());
  }
  /// The request that an offer named; null if there is none, or it is not offered.
  [[nodiscard]] SendRequest* find_offered(std::uint32_t index);
  /// Requests that name the registration do so no more.
  void forget(const Registration& registration);
  /// Visits every request that is under way.
  template <typename Visit>
  void for_each_request(Visit&& visit) const {
    for (const SendRequest& request : requests_) {
      if (request.ops != 0) visit(request);
    }
  }

  CtsWindow window;
  RemoteRegions regions;
  std::unique_ptr<Connecting> connecting;  ///< until the peer has accepted
  std::uint64_t messages = 0;              ///< sent in all
  std::uint64_t delivered = 0;             ///< of these, completed without an error
  std::uint32_t eager_sequence = 0;
  std::uint32_t turn = 0;              ///< rotates the first rail
  std::uint32_t ops = 0;               ///< payload operations posted or waiting, and offers
  bool revoked = false;                ///< the peer wants to hear when `ops` is 0
  std::uint32_t offers = 0;            ///< messages that the peer has not said to have read
  std::uint64_t fetched = 0;           ///< messages that it has read
  std::uint64_t fetched_at_close = 0;  ///< of these, in all, once the peer has closed
  bool withdraw_sent = false;

 private:
  std::array<SendRequest, kSendRequests> requests_;
  SendRequest* free_ = nullptr;
};

/// What a receiver keeps to read its messages out of the sender's memory.
struct Pulling {
  /// One message that the sender offered for a receive.
  struct Waiting {
    std::uint32_t request = 0;  ///< what the sender calls it
    std::uint32_t bytes = 0;
    std::uint32_t region = 0;
    std::uint32_t turn = 0;  ///< of the striping
    std::uint64_t offset = 0;
    std::uint8_t posted = 0;   ///< stripes whose read was handed over
    std::uint8_t stripes = 0;  ///< all of them; 0 while the region is not known
    bool present = false;
  };

  RemoteRegions regions;
  std::array<Waiting, kWindow> offers;  ///< by slot
  std::uint32_t unposted = 0;           ///< offers with stripes still to post
  std::uint32_t reads = 0;              ///< stripes handed over and not complete
  std::uint32_t turn = 0;               ///< rotates the first rail
  std::uint64_t fetched = 0;            ///< messages read in all
  bool withdrawn = false;               ///< the sender wants to hear when `reads` is 0
};

struct RecvComm : Comm {
  explicit RecvComm(Engine& owner) : Comm(CommKind::kRecv, owner) {}

  [[nodiscard]] RecvSlot& slot(std::uint32_t sequence) { return slots[sequence % kWindow]; }
  /// Whether our own reads fill the slot, or may do so still: then no message may.
  [[nodiscard]] bool is_being_read(const RecvSlot& slot) const {
    if (!pulling) return false;
    const bool ending = (error || pulling->withdrawn) && pulling->reads != 0;
    return ending || pulling->offers[static_cast<std::size_t>(&slot - slots.data())].present;
  }

  std::array<RecvSlot, kWindow> slots;
  std::uint32_t tail = 0;  ///< oldest receive that is not released
  std::uint32_t next = 0;  ///< sequence number of the next receive
  EagerOrder eager;
  std::uint64_t messages = 0;       ///< arrived in all
  std::uint64_t peer_messages = 0;  ///< sent in all, once the peer has closed
  bool replied = false;             ///< the connector has our answer
  bool revoke_sent = false;
  std::uint32_t revoked = 0;   ///< rails on which the sender writes no more
  std::uint32_t own_ops = 0;   ///< kPlace and kFlush operations not complete
  std::uint32_t unplaced = 0;  ///< slots with a message that could not leave for the GPU yet
  /// Grows where NCCL has more under way than ever before.
  std::vector<std::unique_ptr<FlushRequest>> flushes;
  std::unique_ptr<Pulling> pulling;  ///< exactly if `pulled`
};

struct Listener : Comm {
  explicit Listener(Engine& owner) : Comm(CommKind::kListen, owner) {}

  std::uint64_t secret = 0;
  std::deque<ConnectRequest> waiting;
  RecvComm* accepting = nullptr;
};

}  // namespace fabrail::transport
