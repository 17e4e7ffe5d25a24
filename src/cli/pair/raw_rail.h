// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One rail of this side: short notes and plain RDMA writes to each rail of the other side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/fabric/endpoint.h"
#include "src/fabric/memory_region.h"

namespace fabrail::cli::pair {

/// What notes are for.
enum class NoteKind : std::uint16_t {
  kHello,    ///< is anybody there? Answered by kWelcome.
  kWelcome,  ///< yes
  kDone,     ///< my writes of this step are complete. Answered by kWelcome.
};

/// A small message. Sent as it lies in memory: both sides run the same binary on the same kind of
/// processor, and decode() looks at it before anybody believes it.
struct Note {
  std::uint32_t magic = 0;
  std::uint32_t step = 0;  ///< answers to steps that were given up are recognised by it
  NoteKind kind = NoteKind::kHello;
  std::uint16_t from = 0;  ///< index of the sending rail
};

/// How the other side reaches a rail.
struct RailAddress {
  std::vector<std::byte> name;
  std::uint64_t base = 0;  ///< of the memory for writes
  std::uint64_t key = 0;
};

class Rail {
 public:
  /// Something that has happened on this rail.
  struct Event {
    enum class Kind { kNote, kNoteSent, kWriteDone, kFailed } kind = Kind::kNote;
    std::size_t peer = 0;              ///< rail of the other side
    std::uint32_t step = 0;            ///< that it belongs to
    NoteKind note = NoteKind::kHello;  ///< of kNote
    std::string error;                 ///< of kFailed
  };
  /// `peer` of an Event that concerns the whole rail.
  static constexpr std::size_t kNoPeer = SIZE_MAX;

  /// Opens `nic`, which must outlive the rail; so must `memory`, whose first half is written from
  /// and whose second half the other side writes into.
  static Result<std::unique_ptr<Rail>> open(const fabric::Library& library, const fabric::Nic& nic,
                                            std::uint16_t index, std::span<std::byte> memory);

  [[nodiscard]] RailAddress address() const;
  /// Learns the rails of the other side, and takes room for notes from each of them.
  Status connect(const std::vector<RailAddress>& peers);

  /// Starts a note or a write to rail `peer`. A full queue is tried again by poll(), which also
  /// tells of refusals.
  void send(std::size_t peer, NoteKind kind, std::uint32_t step);
  void write(std::size_t peer, std::size_t bytes, std::uint32_t step);

  /// Whether nothing that was started is still under way.
  [[nodiscard]] bool idle() const;

  /// What has happened since the last call.
  std::vector<Event> poll();

  /// For a rail that is not closed: see fabric::Endpoint.
  void unlink_shared_memory() const noexcept { endpoint_.unlink_shared_memory(); }

  ~Rail();
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

 private:
  /// One posted operation. Some providers write into the context while the operation runs.
  struct Op {
    enum class Kind { kReceive, kSend, kWrite };

    fi_context2 context{};  ///< first: libfabric gives its address back
    Kind kind = Kind::kReceive;
    std::size_t peer = 0;
    std::uint32_t step = 0;
    std::byte* note = nullptr;  ///< null: only for writes
    std::size_t bytes = 0;      ///< of a write
  };
  struct Peer {
    fi_addr_t address = FI_ADDR_UNSPEC;
    std::uint64_t base = 0;
    std::uint64_t key = 0;
  };

  Rail(fabric::Endpoint endpoint, std::uint16_t index, std::span<std::byte> memory)
      : endpoint_(std::move(endpoint)), index_(index), memory_(memory) {}
  Status open_regions();
  Op& take_note();
  Op& take_write();
  void release(Op& op);
  void start(Op& op);
  [[nodiscard]] std::int64_t post(Op& op);
  void retry();
  void finish(const fi_cq_data_entry& entry);
  void fail(const Op* op, std::string error);
  void take_error();

  fabric::Endpoint endpoint_;
  std::uint16_t index_;
  std::span<std::byte> memory_;
  std::vector<std::byte> notes_;  ///< a slot for each op
  std::optional<fabric::MemoryRegion> note_region_;
  std::optional<fabric::MemoryRegion> data_region_;
  std::vector<Peer> peers_;
  std::size_t receives_ = 0;  ///< posted for good
  std::deque<Op> ops_;
  std::vector<Op*> free_notes_;  ///< each has a slot
  std::vector<Op*> free_writes_;
  std::vector<Event> events_;
  std::deque<Op*> waiting_;  ///< refused for a full queue
};

}  // namespace fabrail::cli::pair
