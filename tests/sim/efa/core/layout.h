// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The structs that emulated NICs share between processes: one per file under the fabric's
// directory.
//
// Everything is lock free: a process may be killed between any two instructions, and the others go
// on. Words that two processes write are atomics; the rest is written by one owner and published by
// a release store.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "tests/sim/efa/core/shared_file.h"

namespace fabrail::sim {

inline constexpr uint32_t kMaxProcesses = 256;
inline constexpr uint32_t kHazardsPerProcess = 16;
inline constexpr uint32_t kMaxQps = 1024;
inline constexpr uint32_t kMaxRegions = 65536;
inline constexpr uint32_t kMaxRules = 32;
inline constexpr uint32_t kMaxInboundRings = 1024;
inline constexpr uint32_t kMtuBytes = 8928;
inline constexpr uint32_t kCacheLine = 64;

/// Names a process and its life: the slot in the process table, and how often the slot was used. 0:
/// nobody.
using ProcessToken = uint32_t;

/// `<fabric>/processes`. The owner of slot i holds a record lock on byte i of the file, which the
/// kernel drops when it dies.
struct ProcessTable {
  static constexpr uint32_t kMagic = 0x46535031;
  struct alignas(kCacheLine) Entry {
    std::atomic<uint32_t> bell;   // futex word: the engine sleeps on it
    std::atomic<uint32_t> token;  // of the process that has the slot now
    std::atomic<uint32_t> pid;
    // Regions that a thread of this process is copying to or from; see region_table.h.
    std::atomic<uint64_t> hazards[kHazardsPerProcess];
  };
  FileHeader header;
  Entry entries[kMaxProcesses];
};

/// What RDMA sees of a registration. `key` is 0 while the slot is free, kClaimed while it is being
/// filled.
struct RegionSlot {
  std::atomic<uint32_t> key;
  std::atomic<uint32_t> generation;
  std::atomic<ProcessToken> owner;
  std::atomic<uint32_t> pid;
  std::atomic<uint32_t> pd;
  std::atomic<uint32_t> access;
  std::atomic<uint64_t> address;  // where the bytes are in the owner
  std::atomic<uint64_t> iova;     // what work requests call that address
  std::atomic<uint64_t> bytes;
};

/// Run-time knobs of a NIC; any process may turn them.
struct Shape {
  std::atomic<uint64_t> rate_bytes_per_s;
  std::atomic<uint64_t> latency_ns;
  std::atomic<uint64_t> jitter_ns;
  std::atomic<uint32_t> shuffle_window;
  std::atomic<uint32_t> seed;
  std::atomic<uint32_t> link_down;
  std::atomic<uint32_t> lost;
  std::atomic<uint32_t> max_qps;
  std::atomic<uint32_t> max_regions;
  std::atomic<uint32_t> max_ahs;
  std::atomic<uint32_t> unresponsive_ms;
  std::atomic<uint32_t> ring_bytes;
};

/// One direction of a capped link: until when it is spoken for, and how its time was spent so far.
struct Direction {
  std::atomic<uint64_t> free_ns;
  std::atomic<uint64_t> busy_ns;
  std::atomic<uint64_t> idle_ns;  // between transfers
};

struct Link {
  Direction transmit;
  Direction receive;
};

/// One fault; see faults.h for what the fields mean.
struct RuleSlot {
  std::atomic<uint32_t> active;
  std::atomic<uint32_t> actions;
  std::atomic<uint32_t> operations;
  std::atomic<uint32_t> peer;
  std::atomic<uint32_t> local_qpn;
  std::atomic<uint32_t> remote_qpn;
  std::atomic<uint32_t> status;
  std::atomic<uint32_t> per_million;
  std::atomic<uint64_t> delay_ns;
  std::atomic<uint64_t> skip;
  std::atomic<uint64_t> times;
  std::atomic<uint64_t> matched;
  std::atomic<uint64_t> fired;
};

enum class Counter : uint32_t {
  kTxBytes,
  kTxPackets,
  kRxBytes,
  kRxPackets,
  kRxDrops,
  kSendBytes,
  kSendRequests,
  kRecvBytes,
  kRecvRequests,
  kReadBytes,
  kReadRequests,
  kReadErrors,
  kReadResponseBytes,
  kWriteBytes,
  kWriteRequests,
  kWriteErrors,
  kWriteReceivedBytes,
  kRetransmittedPackets,
  kUnresponsiveEvents,
  kGpuRegions,
  kDmabufRegions,
  kRegions,
  kCount
};
inline constexpr uint32_t kCounters = static_cast<uint32_t>(Counter::kCount);

/// `<fabric>/node-N/device-D`.
struct DeviceState {
  static constexpr uint32_t kMagic = 0x46534432;
  FileHeader header;
  Shape shape;
  alignas(kCacheLine) Link link;
  alignas(kCacheLine) std::atomic<uint64_t> counters[kCounters];
  alignas(kCacheLine) RuleSlot rules[kMaxRules];
  std::atomic<uint32_t> active_rules;
  std::atomic<uint32_t> next_qpn;
  std::atomic<uint32_t> next_pd;
  std::atomic<uint32_t> open_qps;
  std::atomic<uint32_t> open_regions;
  std::atomic<uint32_t> region_hint;  // where to look for a free slot first
  std::atomic<ProcessToken> qp_owner[kMaxQps];
  RegionSlot regions[kMaxRegions];
};

enum class QpPhase : uint32_t { kInitial = 0, kReceiving = 1, kDead = 2 };

/// An inbound ring's place in one word, so that claiming is one exchange: the claimer's token << 2
/// | phase.
struct RingSlot {
  enum Phase : uint64_t { kFree = 0, kClaimed = 1, kReady = 2 };
  static uint64_t pack(ProcessToken owner, Phase phase) { return uint64_t{owner} << 2 | phase; }
  static Phase phase(uint64_t word) { return static_cast<Phase>(word & 3); }
  static ProcessToken owner(uint64_t word) { return static_cast<ProcessToken>(word >> 2); }
  std::atomic<uint64_t> word;
};

/// `<fabric>/node-N/qp-D-Q`: what senders see of a receiver.
struct QpState {
  static constexpr uint32_t kMagic = 0x46535131;
  FileHeader header;
  std::atomic<QpPhase> phase;
  std::atomic<ProcessToken> owner;
  std::atomic<uint32_t> queue_key;
  std::atomic<uint32_t> pd;
  std::atomic<uint32_t> unsolicited;
  std::atomic<uint32_t> armed;    // its owner sleeps until something arrives
  std::atomic<uint32_t> crowded;  // a sender found no free ring: look for rings of the dead
  std::atomic<int64_t>
      posted_receives;  // a hint that spares senders a futile copy; the receiver decides
  alignas(kCacheLine) std::atomic<uint64_t> summary;  // bit i: word i of `pending` may be non-zero
  alignas(kCacheLine) std::atomic<uint64_t> pending[kMaxInboundRings / 64];
  alignas(kCacheLine) RingSlot rings[kMaxInboundRings];
};
static_assert(kMaxInboundRings / 64 <= 64, "one summary word covers all pending words");

/// Answers of the receiver, in the order in which it consumed.
struct Acknowledgement {
  uint32_t cookie;
  uint32_t status;
};

/// `<fabric>/node-N/qp-D-Q.rI`: messages of one sending QP to one receiving QP.
struct RingState {
  static constexpr uint32_t kMagic = 0x46535231;
  static constexpr uint32_t kAcknowledgements = 2048;
  FileHeader header;
  uint32_t capacity;             // bytes behind this struct; a power of two
  ProcessToken sender;           // whose engine waits for acknowledgements
  std::atomic<uint32_t> closed;  // the sender left
  std::atomic<uint32_t> sender_armed;
  alignas(kCacheLine) std::atomic<uint64_t> tail;      // sender: bytes ever published
  alignas(kCacheLine) std::atomic<uint64_t> head;      // receiver: bytes ever consumed
  alignas(kCacheLine) std::atomic<uint64_t> ack_tail;  // receiver
  alignas(kCacheLine) std::atomic<uint64_t> ack_head;  // sender
  alignas(kCacheLine) Acknowledgement acks[kAcknowledgements];

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<QpPhase>::is_always_lock_free);
static_assert(std::is_standard_layout_v<DeviceState> && std::is_standard_layout_v<QpState> &&
              std::is_standard_layout_v<RingState> && std::is_standard_layout_v<ProcessTable>);

}  // namespace fabrail::sim
