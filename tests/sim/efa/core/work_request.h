// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// What is posted to a queue pair and what comes back from it, free of any library's structs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tests/sim/efa/core/address.h"
#include "tests/sim/efa/core/region_table.h"
#include "tests/sim/efa/core/status.h"

namespace fabrail::sim {

inline constexpr uint32_t kInlineBytes = 32;
inline constexpr uint32_t kMaxSendSegments = 2;
inline constexpr uint32_t kMaxReceiveSegments = 3;
inline constexpr uint32_t kMaxRdmaSegments = 1;
inline constexpr uint32_t kRnrForever = 7;

enum class Operation : uint8_t { kSend, kRead, kWrite };

struct Destination {
  Address nic;
  uint32_t qpn = 0;
  uint32_t queue_key = 0;
};

struct WorkRequest {
  uint64_t id = 0;
  Operation operation = Operation::kSend;
  bool has_immediate = false;
  bool has_destination = false;
  bool is_inline = false;
  uint8_t segment_count = 0;
  uint32_t immediate = 0;
  uint32_t bytes = 0;
  uint32_t remote_key = 0;
  uint64_t remote_address = 0;
  Destination to;
  std::array<Segment, kMaxSendSegments> segments{};
  std::array<std::byte, kInlineBytes> inline_data{};

  bool notifies() const { return operation == Operation::kSend || has_immediate; }
};

struct ReceiveRequest {
  uint64_t id = 0;
  uint8_t segment_count = 0;
  std::array<Segment, kMaxReceiveSegments> segments{};
};

enum class CompletionKind : uint8_t { kSend, kRead, kWrite, kReceive, kReceiveWriteImmediate };

class QueuePair;

struct Completion {
  uint64_t id = 0;
  QueuePair* queue_pair = nullptr;
  Status status = Status::kOk;
  CompletionKind kind = CompletionKind::kSend;
  bool has_immediate = false;
  bool unsolicited = false;
  uint16_t source_ah = 0xffff;  // 0xffff: no AH for the source; then source_gid counts
  uint32_t bytes = 0;
  uint32_t qpn = 0;
  uint32_t source_qpn = 0;
  uint32_t immediate = 0;
  Address source;
};

}  // namespace fabrail::sim
