// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One rail of a device: an endpoint, its buffers for control messages, and what waits for room in
// its queue.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <rdma/fi_errno.h>

#include "include/fabrail_counters.h"
#include "src/base/result.h"
#include "src/fabric/endpoint.h"
#include "src/fabric/memory_region.h"
#include "src/transport/backoff.h"
#include "src/transport/counters.h"
#include "src/transport/messages.h"
#include "src/transport/op.h"

namespace fabrail::transport {

/// Destinations that had no room in this pass. One that is full, or not connected yet, must not
/// hold up the others; with so many that it may be the queue itself, the pass ends.
class Blocked {
 public:
  void add(fi_addr_t to) { to_[count_++] = to; }
  [[nodiscard]] bool full() const { return count_ == to_.size(); }
  [[nodiscard]] bool contains(fi_addr_t to) const {
    return std::find(to_.begin(), to_.begin() + count_, to) != to_.begin() + count_;
  }

 private:
  std::array<fi_addr_t, 8> to_{};
  std::size_t count_ = 0;
};

/// Sends, writes and receives on one endpoint. Everything that is handed over is posted sooner or
/// later, or its failure is reported: callers never deal with full queues.
///
/// Thread  the engine's mutex, except endpoint() for registration.
class Rail {
 public:
  /// Room for a control message, or for an eager message with its header and announcements before
  /// it.
  static constexpr std::size_t kBufferBytes = 8704;

  ~Rail() { endpoint_.close(); }  // before the buffers that it may still write to
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  static Result<std::unique_ptr<Rail>> open(const fabric::Library& library, const fabric::Nic& nic,
                                            fabrail_counters_t& counters);

  [[nodiscard]] fabric::Endpoint& endpoint() { return endpoint_; }
  [[nodiscard]] const fabric::Endpoint& endpoint() const { return endpoint_; }

  /// Whether take_op() and take_bounce() have something to give.
  [[nodiscard]] bool has_room() const { return free_ops_ != nullptr && !free_bounces_.empty(); }
  /// An operation to fill in; null if all are in use.
  Op* take_op();
  void release(Op& op);
  /// A transmit buffer of kBufferBytes for op.bounce; null if all are in use.
  std::byte* take_bounce();

  /// Posts what `op` describes, or keeps it until there is room: a write of its data with immediate
  /// data (kWrite), else a message whose bytes are in op.bounce. Returns a negative fi_errno if the
  /// provider refuses it for good; the operation is the caller's again then.
  std::int64_t submit(Op& op);
  /// Makes this endpoint its own peer, for writes and reads of our GPUs' memory.
  Status open_loopback();
  /// This endpoint's address as its own peer; FI_ADDR_NOTAVAIL before open_loopback().
  [[nodiscard]] fi_addr_t self() const { return self_; }
  /// Where the bytes of flushing reads go: nobody looks at them.
  [[nodiscard]] std::byte* landing() const {
    return bounce_memory_.get() + kBounces * kBufferBytes;
  }
  /// Sends a short control message that nobody waits for.
  void send_short(fi_addr_t to, const ShortMessage& message);

  /// Takes back every operation that still waits for room and that `unwanted(op)` selects.
  template <typename Unwanted>
  void drop_waiting(Unwanted&& unwanted) {
    Op** link = &waiting_;
    while (*link != nullptr) {
      Op& op = **link;
      if (unwanted(op)) {
        *link = op.next;
        release(op);
      } else {
        link = &op.next;
      }
    }
  }
  /// Visits every operation, posted or not.
  template <typename Visit>
  void for_each_op(Visit&& visit) {
    for (std::size_t i = 0; i < op_count_; ++i) visit(ops_[i]);
  }
  /// How many operations that `counted(op)` selects still wait for room.
  template <typename Counted>
  [[nodiscard]] std::uint32_t count_waiting(Counted&& counted) const {
    std::uint32_t count = 0;
    for (const Op* op = waiting_; op != nullptr; op = op->next) count += counted(*op) ? 1 : 0;
    return count;
  }
  /// Whether a short message of this kind to this peer waits for room.
  [[nodiscard]] bool has_waiting_short(fi_addr_t to, MessageKind kind) const {
    return std::any_of(shorts_.begin(), shorts_.end(), [&](const WaitingShort& item) {
      return item.to == to && kind_of(item.message.data) == kind;
    });
  }
  /// Forgets short messages to a peer that is gone.
  void drop_shorts(fi_addr_t to);

  /// Whether what was posted here needs no more calls of ours to arrive. The provider sends again
  /// by itself what a receiver had no room for, but only while it is called; and it keeps back all
  /// later messages until then.
  [[nodiscard]] bool all_messages_finished();
  /// Counts as finished what has been posted so far: it is not worth more waiting.
  void await_no_messages();

  /// Whether so many control messages to this peer wait that no new receive should be announced.
  [[nodiscard]] bool control_backlog(fi_addr_t to) const;

  /// Whether `caller` should poll now. NCCL tests all its requests in turn, and one look at the
  /// queue serves them all: the one that looked last looks again, the others only if it has not
  /// come back for a while.
  bool is_turn_of(const void* caller) {
    if (last_caller_ != nullptr && last_caller_ != caller && ++passed_over_ < kPatience)
      return false;
    last_caller_ = caller;
    passed_over_ = 0;
    return true;
  }

  /// Retries what waits, then takes completions and gives each to `handler`:
  ///   message(bytes)  arrived(immediate, length)  completed(op) -> done with it?  failed(op, error
  ///   entry)  lost(error entry): a short message
  template <typename Handler>
  void poll(Handler&& handler) {
    ++polls_;
    if (waiting_ != nullptr || !shorts_.empty() || idle_receives_ != nullptr) retry(handler);
    for (int batch = 0; batch < kMaxBatches; ++batch) {
      fi_cq_data_entry entries[kBatch];
      const std::int64_t taken = endpoint_.poll(entries);
      count(counters_->libfabric_polls);
      if (taken <= 0) {
        if (taken != -FI_EAGAIN) take_error(handler);
        if (read_receives_ != 0) post_read_receives();
        return;
      }
      count(counters_->completions, static_cast<std::uint64_t>(taken));
      last_caller_ = nullptr;  // whoever looked may be done now
      for (std::int64_t i = 0; i < taken; ++i) dispatch(entries[i], handler);
      if (taken < kBatch) return;
    }
  }

 private:
  static constexpr int kBatch = 16;
  static constexpr std::uint32_t kPatience = 16;
  static constexpr int kMaxBatches = 4;  // then others get their turn at the engine
  static constexpr std::size_t kReceives = 256;
  static constexpr std::uint32_t kReadReceives = 8;  // that were read, before they are posted again
  static constexpr std::size_t kBounces = 256;
  static constexpr std::size_t kMaxOps = 1024;
  static constexpr std::size_t kShortBacklog = 512;
  static constexpr std::size_t kLandingBytes = 64;

  static constexpr std::uint64_t kNever = UINT64_MAX;

  struct WaitingShort {
    fi_addr_t to;
    ShortMessage message;
    Backoff backoff;
  };
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(std::byte* memory) const noexcept;
  };
  using Mapping = std::unique_ptr<std::byte, Unmap>;

  Rail(fabric::Endpoint endpoint, fabrail_counters_t& counters)
      : endpoint_(std::move(endpoint)),
        counters_(&counters),
        receive_memory_(nullptr, Unmap{}),
        bounce_memory_(nullptr, Unmap{}) {}
  Status open_buffers();
  Status register_buffers();
  void carve_buffers();
  std::int64_t post(Op& op);
  std::int64_t inject(const WaitingShort& item);
  void post_receive(ReceiveBuffer& buffer);
  void post_receives(ReceiveBuffer* list);
  void post_read_receives();
  std::int64_t retry(Op& op, Blocked& blocked);
  bool retry(WaitingShort& item, Blocked& blocked);
  void retry_shorts();
  void retry_receives();
  void take_up_at(Op** link);
  [[nodiscard]] void* bounce_descriptor() const {
    return bounce_region_ ? bounce_region_->descriptor() : nullptr;
  }

  // It is posted again when there is nothing better to do: somebody may be waiting for the answer
  // to what it brought.
  void keep_read(ReceiveBuffer& buffer) {
    buffer.next = read_;
    read_ = &buffer;
    if (++read_receives_ == kReadReceives) post_read_receives();
  }

  template <typename Handler>
  void dispatch(const fi_cq_data_entry& entry, Handler&& handler) {
    auto* context = static_cast<Context*>(entry.op_context);
    if ((entry.flags & FI_RECV) != 0) {
      auto& buffer = static_cast<ReceiveBuffer&>(*context);
      handler.message(std::span<const std::byte>(buffer.data, entry.len));
      keep_read(buffer);
    } else if ((entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0) {
      // shm of libfabric 2.1 says only that there is data.
      // The context of an arrival means nothing: shm leaves a stale one there.
      handler.arrived(entry.data, entry.len);
    } else if (context != nullptr) {
      auto& op = static_cast<Op&>(*context);
      if (is_message(op.kind)) --open_messages_;
      if (handler.completed(op)) release(op);
    }
  }

  template <typename Handler>
  void take_error(Handler&& handler) {
    fi_cq_err_entry entry{};
    if (!endpoint_.read_error(entry)) return;
    count(counters_->completions);
    auto* context = static_cast<Context*>(entry.op_context);
    if ((entry.flags & (FI_REMOTE_WRITE | FI_REMOTE_READ)) != 0) return;
    if (context == nullptr) return handler.lost(entry);
    if (context->kind == OpKind::kReceive) {
      // A receive fails when its endpoint is torn down, or by a message that is no message of ours.
      if (entry.err != FI_ECANCELED) post_receive(static_cast<ReceiveBuffer&>(*context));
      return;
    }
    auto& op = static_cast<Op&>(*context);
    if (is_message(op.kind)) --open_messages_;
    handler.failed(op, entry);
    release(op);
  }

  template <typename Handler>
  void retry(Handler&& handler) {
    retry_receives();
    if (shorts_due_ <= polls_) retry_shorts();
    if (ops_due_ <= polls_) retry_ops(handler);
  }

  template <typename Handler>
  void retry_ops(Handler&& handler) {
    Blocked blocked;
    ops_due_ = kNever;
    Op** link = &waiting_;
    while (*link != nullptr && !blocked.full()) {
      Op& op = **link;
      const std::int64_t rc = retry(op, blocked);
      if (rc == -FI_EAGAIN) {
        ops_due_ = std::min(ops_due_, op.backoff.due());
        link = &op.next;
        continue;
      }
      *link = op.next;
      if (rc != 0) fail_unposted(op, rc, handler);
    }
    if (*link != nullptr) take_up_at(link);
  }

  template <typename Handler>
  void fail_unposted(Op& op, std::int64_t rc, Handler&& handler) {
    fi_cq_err_entry entry{};
    entry.err = static_cast<int>(-rc);
    handler.failed(op, entry);
    release(op);
  }

  // In the order in which the default destructor must not see them: regions close before their
  // domain.
  fabric::Endpoint endpoint_;
  fabrail_counters_t* counters_;
  Mapping receive_memory_;
  Mapping bounce_memory_;
  std::optional<fabric::MemoryRegion> receive_region_;
  std::optional<fabric::MemoryRegion> bounce_region_;
  std::unique_ptr<ReceiveBuffer[]> receives_;
  std::unique_ptr<Op[]> ops_;
  std::size_t op_count_ = 0;
  std::vector<std::byte*> free_bounces_;
  Op* free_ops_ = nullptr;
  ReceiveBuffer* idle_receives_ = nullptr;  // could not be posted yet
  ReceiveBuffer* read_ = nullptr;           // messages read, not posted again yet
  std::uint32_t read_receives_ = 0;         // how many
  fi_addr_t self_ = FI_ADDR_NOTAVAIL;
  std::uint64_t polls_ = 0;
  std::uint64_t messages_ = 0;       // posted in all, injected ones included
  std::uint64_t open_messages_ = 0;  // of these, whose completion is to come
  std::uint64_t given_up_ = 0;       // of the open ones, at most
  std::uint64_t uncounted_ = 0;      // of all, that no counter will tell of any more
  bool injected_ = false;            // some may not have arrived, and no completion will tell
  Op* waiting_ = nullptr;
  std::uint64_t ops_due_ = kNever;  // the poll that tries one of these again
  std::vector<WaitingShort> shorts_;
  std::uint64_t shorts_due_ = kNever;
  const void* last_caller_ = nullptr;
  std::uint32_t passed_over_ = 0;
};

}  // namespace fabrail::transport
