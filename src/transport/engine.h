// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// All rails of one NCCL device and everything that runs over them. NCCL's calls come here, and
// drive all progress: there is no thread of our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "include/fabrail_counters.h"
#include "src/base/log.h"
#include "src/base/mutex.h"
#include "src/base/slot_map.h"
#include "src/transport/comm.h"
#include "src/transport/comm_state.h"
#include "src/transport/engine_settings.h"
#include "src/transport/process_identity.h"
#include "src/transport/stripe.h"

namespace fabrail::transport {

/// One NCCL device.
///
/// Thread  any function from any thread. One mutex guards all state; while one thread makes
/// progress, test() of
///         another does not wait for it. Lock order: the engine's mutex, then the MR cache's.
class Engine {
 public:
  /// Opens one rail for each entry of `nics` (a NIC may stand there several times).
  ///
  /// Errors  kSystem, naming the NIC.
  static Result<std::unique_ptr<Engine>> open(const fabric::Library& library,
                                              std::span<const fabric::Nic* const> nics,
                                              const EngineSettings& settings, const Logger& logger,
                                              fabrail_counters_t& counters);
  ~Engine();

  [[nodiscard]] std::size_t rails() const { return rails_.size(); }

  /// For a process that ends: removes what would outlive it. Nothing is closed; peers may be
  /// fetching still.
  void leave() const noexcept;

  // ---- connections. "Not yet" is a null pointer; nothing blocks.

  Result<Listener*> listen(std::span<std::byte, kHandleBytes> handle) EXCLUDES(mutex_);
  /// Advances the attempt whose state the handle's scratch word names.
  /// Errors  kInvalidUsage: the handle is not one of ours, or of another version. kRemote: the peer
  /// is gone or
  ///         refuses. kSystem: the deadline passed. The attempt is over then.
  Result<SendComm*> connect(std::span<std::byte, kHandleBytes> handle) EXCLUDES(mutex_);
  Result<RecvComm*> accept(Listener& listener) EXCLUDES(mutex_);
  void close(Listener& listener) EXCLUDES(mutex_);
  void close(SendComm& comm) EXCLUDES(mutex_);
  void close(RecvComm& comm) EXCLUDES(mutex_);

  // ---- memory

  Result<Registration*> register_memory(Comm& comm, std::byte* data, std::size_t bytes)
      EXCLUDES(mutex_);
  /// Registers a GPU's memory, by `dmabuf` if that is given and works, else in another of the ways
  /// that settings name. The descriptor is not needed after return.
  ///
  /// Errors  kUnsupported where these NICs cannot be given GPU memory; else of the best way.
  Result<Registration*> register_device_memory(Comm& comm, std::byte* data, std::size_t bytes,
                                               const std::optional<fabric::DmabufRange>& dmabuf)
      EXCLUDES(mutex_);
  /// After return nothing of ours touches the memory any more, whatever was in flight; then the
  /// communicator is of no further use.
  void deregister_memory(Registration& registration) EXCLUDES(mutex_);

  // ---- data path. A null request is "not now, nothing was started".

  Result<Request*> send(SendComm& comm, const std::byte* data, std::size_t bytes, std::int32_t tag,
                        Registration* registration) EXCLUDES(mutex_);
  Result<Request*> receive(RecvComm& comm, std::span<const ReceiveArgs> args) EXCLUDES(mutex_);
  /// Makes what these receives brought visible to the GPU's kernels. A null request: it is. Never
  /// "not now".
  Result<Request*> flush(RecvComm& comm, std::span<const FlushArgs> receives) EXCLUDES(mutex_);
  /// Makes progress; true if the request is complete, which ends it: `sizes`, if not null, gets one
  /// size for a send and one for each receive of a group.
  Result<bool> test(Request& request, std::span<std::uint32_t> sizes) EXCLUDES(mutex_);

  /// Number of sizes that test() writes: of receives that a request stands for, 1 for a send, 0 for
  /// a flush.
  static std::uint32_t group_size(const Request& request);

 private:
  class Handler;

  Engine(const EngineSettings& settings, const Logger& logger, fabrail_counters_t& counters)
      : settings_(settings), logger_(logger), counters_(counters) {}

  // engine.cpp
  Result<std::unique_ptr<Rail>> open_rail(const fabric::Library& library,
                                          const fabric::Nic& nic) const;
  void reserve() EXCLUDES(mutex_);
  void poll(std::uint32_t rails) REQUIRES(mutex_);
  void poll_all() REQUIRES(mutex_) { poll(all_rails(static_cast<std::uint32_t>(rails_.size()))); }
  static std::uint32_t all_rails(std::uint32_t count) {
    return static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
  }
  void poll_in_turn(const Request& request) REQUIRES(mutex_);
  Result<bool> test_locked(Request& request, std::span<std::uint32_t> sizes) REQUIRES(mutex_);
  void fail(Comm& comm, const Error& error) REQUIRES(mutex_);
  void suspect(Comm& comm, const Error& error) REQUIRES(mutex_);
  /// The communicator's error, marked as reported from the second time on.
  static Error sticky(Comm& comm);
  void peer_died(Peer& peer, const char* proof) REQUIRES(mutex_);
  void watch(Comm& comm) REQUIRES(mutex_);
  void watch_connection(Comm& comm, std::int64_t now) REQUIRES(mutex_);
  void on_lost(std::uint32_t rail, const fi_cq_err_entry& entry) REQUIRES(mutex_);
  void note_trouble(std::uint32_t rail, const Error& error) REQUIRES(mutex_);
  void look_for_trouble(const Comm& comm) REQUIRES(mutex_);
  void check_trouble(Comm& comm, std::int64_t now) REQUIRES(mutex_);
  void probe(Comm& comm, std::int64_t now) REQUIRES(mutex_);
  void moved(Comm& comm) REQUIRES(mutex_) {
    comm.waiting = false;
    comm.fruitless = 0;
  }
  void begin_request(Comm& comm) REQUIRES(mutex_) {
    ++comm.outstanding;
    ++comm.unreturned;
    ++unreturned_;
    moved(comm);
  }
  void end_request(Comm& comm) REQUIRES(mutex_) {
    --comm.outstanding;
    moved(comm);
  }
  /// NCCL has it back.
  void return_request(Comm& comm) REQUIRES(mutex_) {
    --comm.unreturned;
    --unreturned_;
  }
  /// Something of the peer arrived.
  void heard(Comm& comm) REQUIRES(mutex_) {
    moved(comm);
    comm.peer->unresponsive = false;
  }
  void suspect_all(Peer& peer, const Error& error) REQUIRES(mutex_);
  Op* take_op(std::uint32_t rail, OpKind kind, Peer& peer) REQUIRES(mutex_);
  void give_up(std::uint32_t rail, Op& op) REQUIRES(mutex_);
  void send_short(Comm& comm, const ShortMessage& message) REQUIRES(mutex_);
  Status submit(std::uint32_t rail, Op& op) REQUIRES(mutex_);
  [[nodiscard]] Error op_error(std::uint32_t rail, const Op& op,
                               const fi_cq_err_entry& entry) const;

  // dispatch.cpp: what the network brings
  void on_message(std::uint32_t rail, std::span<const std::byte> bytes) REQUIRES(mutex_);
  void on_arrival(std::uint32_t rail, std::uint64_t immediate, std::size_t length) REQUIRES(mutex_);
  void take_stripe(RecvComm& comm, const Immediate& stripe, std::uint32_t length,
                   std::uint32_t rail) REQUIRES(mutex_);
  bool is_free_of_reads(RecvComm& comm, const RecvSlot& slot) REQUIRES(mutex_);
  void on_empty(const Empty& message) REQUIRES(mutex_);
  bool on_completed(std::uint32_t rail, Op& op) REQUIRES(mutex_);
  bool send_notice(SendComm& comm, std::uint32_t rail, Op& op) REQUIRES(mutex_);
  void on_delivery(const Delivery& message, std::span<const std::byte> payload) REQUIRES(mutex_);
  void on_arrived(const Arrived& message) REQUIRES(mutex_);
  void on_failed(std::uint32_t rail, Op& op, const fi_cq_err_entry& entry) REQUIRES(mutex_);
  void on_rare_message(MessageKind kind, std::span<const std::byte> bytes) REQUIRES(mutex_);
  void on_announcements(std::uint32_t rail, std::span<const std::byte> bytes) REQUIRES(mutex_);
  void on_clear_to_send(const ClearToSend& message) REQUIRES(mutex_);
  void on_region(const Region& message) REQUIRES(mutex_);
  void on_refuse(const Refuse& message) REQUIRES(mutex_);
  void on_close(const Close& message) REQUIRES(mutex_);
  void on_revoke(const Revoke& message) REQUIRES(mutex_);
  void on_revoked(const Revoked& message) REQUIRES(mutex_);
  SendComm* find_send(CommName name) REQUIRES(mutex_);
  RecvComm* find_recv(CommName name) REQUIRES(mutex_);

  // sender.cpp
  Result<Request*> not_now(Comm& comm, bool looked) REQUIRES(mutex_);
  Result<Request*> try_send(SendComm& comm, const std::byte* data, std::uint32_t size,
                            std::int32_t tag, Registration* registration) REQUIRES(mutex_);
  [[nodiscard]] std::uint32_t largest_in_message(const SendComm& comm,
                                                 const Registration* registration) REQUIRES(mutex_);
  Result<Request*> push(SendComm& comm, const CtsWindow::Receive& receive, const std::byte* data,
                        std::uint32_t bytes, Registration* registration) REQUIRES(mutex_);
  Result<Request*> refuse_oversize(SendComm& comm, const CtsWindow::Receive& receive,
                                   std::uint32_t bytes) REQUIRES(mutex_);
  Result<Request*> push_empty(SendComm& comm, const CtsWindow::Receive& receive) REQUIRES(mutex_);
  Result<Request*> send_eager(SendComm& comm, const std::byte* data, std::uint32_t bytes,
                              std::int32_t tag) REQUIRES(mutex_);
  struct StripeTarget {
    const Striping& striping;
    std::uint32_t index;
    const std::byte* data;         // of the message
    std::uint64_t remote_address;  // of the receive
    std::uint64_t remote_key;
    std::uint32_t slot;
  };
  Op* take_write_op(std::uint32_t rail, std::uint32_t bytes, Peer& peer) REQUIRES(mutex_);
  bool take_write_ops(SendComm& comm, const Striping& striping, std::span<Op*> ops)
      REQUIRES(mutex_);
  SendRequest* start_request(SendComm& comm, std::uint32_t bytes, std::uint32_t ops)
      REQUIRES(mutex_);
  void post_stripe(SendComm& comm, SendRequest& request, Op& op, const StripeTarget& target)
      REQUIRES(mutex_);
  SendRequest* send_bounce(SendComm& comm, Op& op, std::uint32_t bytes) REQUIRES(mutex_);
  void finish_op(SendComm& comm, SendRequest& request) REQUIRES(mutex_);
  [[nodiscard]] bool takes_announcements(const SendComm& comm) REQUIRES(mutex_);
  std::size_t take_announcements(const SendComm& comm, std::span<std::byte> room) REQUIRES(mutex_);
  Result<Request*> push_in_message(SendComm& comm, const CtsWindow::Receive& receive,
                                   const std::byte* data, std::uint32_t bytes) REQUIRES(mutex_);
  void check_oversize(SendComm& comm) REQUIRES(mutex_);

  // puller.cpp: messages that the receiver reads
  Result<Request*> offer(SendComm& comm, const CtsWindow::Receive& receive, const std::byte* data,
                         std::uint32_t bytes, Registration& registration) REQUIRES(mutex_);
  void on_pull_message(MessageKind kind, std::span<const std::byte> bytes) REQUIRES(mutex_);
  void on_offer(const Offer& message) REQUIRES(mutex_);
  void on_fetched(const Fetched& message) REQUIRES(mutex_);
  void on_withdraw(const Withdraw& message) REQUIRES(mutex_);
  void on_withdrawn(const Withdrawn& message) REQUIRES(mutex_);
  void finish_offer(SendComm& comm, SendRequest& request) REQUIRES(mutex_);
  void start_reads(RecvComm& comm) REQUIRES(mutex_);
  bool start_reads_of(RecvComm& comm, std::uint32_t slot) REQUIRES(mutex_);
  bool post_read(RecvComm& comm, std::uint32_t slot, const RemoteRegions::Entry& region,
                 const Striping& striping) REQUIRES(mutex_);
  void on_read(RecvComm& comm, const Op& op, std::uint32_t rail) REQUIRES(mutex_);
  void on_read_failed(RecvComm& comm, const Error& error) REQUIRES(mutex_);
  void end_read(RecvComm& comm) REQUIRES(mutex_);
  void drop_offers(RecvComm& comm) REQUIRES(mutex_);
  void check_unfetched(SendComm& comm) REQUIRES(mutex_);
  void keep_pulling(Comm& comm) REQUIRES(mutex_);
  bool owes_news(const Comm& comm) REQUIRES(mutex_);
  bool keeps_news(Comm& comm) REQUIRES(mutex_);

  // last_request.cpp: before nothing is left that NCCL would call us for
  bool is_needed() REQUIRES(mutex_);

  // device.cpp: GPU memory
  /// Whether the payload of a send is where the CPU must not look.
  static bool is_on_device(const Registration* registration) {
    return registration != nullptr && registration->range->is_device();
  }
  Result<RegisteredRange*> acquire_device_range(std::span<std::byte> range, int device,
                                                const std::optional<fabric::DmabufRange>& dmabuf)
      EXCLUDES(mutex_);
  Result<RegisteredRange*> add_device_range(gpu::Path path, std::span<std::byte> range, int device,
                                            const std::optional<fabric::DmabufRange>& dmabuf)
      EXCLUDES(mutex_);
  [[nodiscard]] std::uint64_t remote_address(std::uint32_t rail, const Registration& registration,
                                             const std::byte* data) const;
  void place(RecvComm& comm, RecvSlot& slot, std::span<const std::byte> payload) REQUIRES(mutex_);
  bool post_place(RecvComm& comm, RecvSlot& slot, std::span<const std::byte> payload)
      REQUIRES(mutex_);
  void place_kept(RecvComm& comm) REQUIRES(mutex_);
  void on_placed(RecvComm& comm, const Op& op) REQUIRES(mutex_);
  void on_own_op_failed(RecvComm& comm, Registration* flushed, const Error& error) REQUIRES(mutex_);
  [[nodiscard]] static std::uint32_t rails_that_wrote(const RecvComm& comm,
                                                      const FlushArgs& receive);
  Result<Request*> flush_by_driver(std::span<const FlushArgs> receives) const;
  FlushRequest& take_flush(RecvComm& comm) REQUIRES(mutex_);
  void post_flush(RecvComm& comm, FlushRequest& request) REQUIRES(mutex_);
  bool post_flush_read(RecvComm& comm, FlushRequest& request, FlushRequest::Target& target,
                       std::uint32_t rail) REQUIRES(mutex_);
  void on_flushed(RecvComm& comm, const Op& op) REQUIRES(mutex_);
  void keep_own_ops(RecvComm& comm, Request& request) REQUIRES(mutex_);

  // stalls.cpp: what stands still
  void start_waiting(Comm& comm, std::int64_t now) REQUIRES(mutex_);
  void report_stalls(Comm& comm, std::int64_t now) REQUIRES(mutex_);
  std::vector<Comm*> take_stalled(std::int64_t now) REQUIRES(mutex_);
  void answer_state_requests(std::int64_t now) REQUIRES(mutex_);
  void tell_state(std::int64_t now) REQUIRES(mutex_);
  std::vector<std::string> state_lines(std::int64_t now) REQUIRES(mutex_);
  std::vector<Comm*> all_comms() REQUIRES(mutex_);
  CommState state_of(const Comm& comm, std::int64_t now) REQUIRES(mutex_);
  void describe_sender(const SendComm& comm, CommState& state) REQUIRES(mutex_);
  void describe_receiver(const RecvComm& comm, CommState& state) REQUIRES(mutex_);
  std::uint32_t waiting_ops(const Comm& comm) REQUIRES(mutex_);
  [[nodiscard]] std::string nic_names(std::uint32_t rails) const REQUIRES(mutex_);

  // receiver.cpp
  void announce(RecvComm& comm, std::uint32_t sequence) REQUIRES(mutex_);
  void send_announcements() REQUIRES(mutex_);
  std::size_t send_announcements_from(std::size_t first) REQUIRES(mutex_);
  bool same_path(const Comm& comm, std::uint32_t other_key) REQUIRES(mutex_);
  bool announce_region(Comm& comm, Registration& registration) REQUIRES(mutex_);
  void post_slot(RecvComm& comm, const ReceiveArgs& args, std::uint32_t index, std::uint32_t count)
      REQUIRES(mutex_);
  void complete(RecvComm& comm, RecvSlot& slot) REQUIRES(mutex_);
  void release_group(RecvComm& comm, RecvSlot& first, std::span<std::uint32_t> sizes)
      REQUIRES(mutex_);
  void on_eager(const Eager& header, std::span<const std::byte> payload) REQUIRES(mutex_);
  void deliver_or_keep(RecvComm& comm, const Eager& header, std::span<const std::byte> payload)
      REQUIRES(mutex_);
  void deliver(RecvComm& comm, RecvSlot& slot, std::span<const std::byte> payload) REQUIRES(mutex_);
  void deliver_waiting(RecvComm& comm, std::uint32_t group) REQUIRES(mutex_);
  bool keep_payload(HeldEager& held, std::span<const std::byte> payload) REQUIRES(mutex_);
  std::span<const std::byte> kept_payload(const HeldEager& held) REQUIRES(mutex_);
  void drop_payload(std::int32_t storage) REQUIRES(mutex_) { free_spill_.push_back(storage); }
  static RecvSlot* find_receive(RecvComm& comm, const Eager& header);
  void check_closed(RecvComm& comm) REQUIRES(mutex_);

  // renewal.cpp
  void message_lost(Peer& peer) REQUIRES(mutex_);
  Status renew_rails() REQUIRES(mutex_);

  // connecting.cpp, accepting.cpp, closing.cpp
  [[nodiscard]] Party own_party() const;
  Result<SendComm*> start_connect(const Handle& target, std::span<std::byte, kHandleBytes> handle)
      REQUIRES(mutex_);
  Status send_request(SendComm& comm, const Handle& target) REQUIRES(mutex_);
  Result<SendComm*> continue_connect(SendComm& comm, std::span<std::byte, kHandleBytes> handle)
      REQUIRES(mutex_);
  void check_connect(SendComm& comm) REQUIRES(mutex_);
  void on_connect_request(std::uint32_t rail, std::span<const std::byte> bytes) REQUIRES(mutex_);
  void on_connect_reply(std::span<const std::byte> bytes) REQUIRES(mutex_);
  void disown(const Versioned<ConnectReply>& decoded) REQUIRES(mutex_);
  void adopt_peer(SendComm& comm, const ConnectReply& reply) REQUIRES(mutex_);
  Result<RecvComm*> start_accept(const ConnectRequest& request) REQUIRES(mutex_);
  void warn_of_difference(const Peer& peer, const std::string& difference) REQUIRES(mutex_);
  bool turn_down(Listener& listener, const ConnectRequest& request) REQUIRES(mutex_);
  Status send_reply(Peer& peer, const ConnectReply& reply, RecvComm* comm) REQUIRES(mutex_);
  void refuse_connect(const ConnectRequest& request, Verdict verdict) REQUIRES(mutex_);
  bool take_next_request(Listener& listener) REQUIRES(mutex_);
  void destroy(SendComm& comm) REQUIRES(mutex_);
  void destroy(RecvComm& comm) REQUIRES(mutex_);
  void drop_registrations(Comm& comm) REQUIRES(mutex_);

  // memory.cpp
  Result<RegisteredRange*> acquire_range(std::byte* data, std::size_t bytes) EXCLUDES(mutex_);
  void release_range(RegisteredRange& range) EXCLUDES(mutex_);
  Registration* enlist(Comm& comm, RegisteredRange& range) EXCLUDES(mutex_);
  void quiesce(Comm& comm) EXCLUDES(mutex_);
  void start_quiesce(Comm& comm) REQUIRES(mutex_);
  [[nodiscard]] bool is_quiet(const Comm& comm) const REQUIRES(mutex_);
  [[nodiscard]] bool is_reading(const Comm& comm) const REQUIRES(mutex_);
  void forget_flushing_reads(const Registration& registration) REQUIRES(mutex_);
  bool busy(const Registration& registration) EXCLUDES(mutex_);
  void forget(Comm& comm, Registration& registration) REQUIRES(mutex_);
  void drop_waiting(SendComm& comm) REQUIRES(mutex_);
  void detach_ops(const Comm& comm) REQUIRES(mutex_);
  void acknowledge_revoke(SendComm& comm) REQUIRES(mutex_);

  const EngineSettings settings_;
  const Logger& logger_;
  fabrail_counters_t& counters_;
  const ProcessIdentity identity_ = this_process();
  const std::string host_ = host_name(settings_.rank);

  Mutex mutex_;
  // Their number is fixed after open(), and so are they while there are communicators; the rails
  // themselves need the mutex.
  std::vector<std::unique_ptr<Rail>> rails_;
  std::unique_ptr<MrCache> memory_;
  /// What befell a rail without concerning an operation of ours, and when we saw it last.
  struct Trouble {
    std::optional<Error> error;
    std::int64_t seen_ms = 0;
  };
  std::vector<Trouble> troubles_ GUARDED_BY(mutex_);  // by rail
  bool messages_lost_ GUARDED_BY(mutex_) = false;
  PeerTable peers_ GUARDED_BY(mutex_);
  SlotMap<Listener, kCommIndexBits, kCommGenerationBits> listeners_ GUARDED_BY(mutex_);
  SlotMap<SendComm, kCommIndexBits, kCommGenerationBits> senders_ GUARDED_BY(mutex_);
  SlotMap<RecvComm, kCommIndexBits, kCommGenerationBits> receivers_ GUARDED_BY(mutex_);
  struct Announcement {
    std::uint32_t comm;
    ShortMessage message;
  };
  static constexpr std::size_t kMaxAnnouncements = 32;
  // Fewer than the messages that may leave without one, so that no sender runs dry.
  static constexpr std::size_t kLazyAnnouncements = kMaxEager / 2;
  // With so many waiting, a small message that goes to the same peer takes them along: then one
  // message does what would have taken a write and a message.
  static constexpr std::size_t kWorthTakingAlong = 5;
  static constexpr std::uint32_t kTakeAlongBytes = 1024;
  // Up to here a message that would be pulled is sent instead: one trip for three.
  static constexpr std::uint32_t kSentNotPulledBytes = kHomeBytes;
  static constexpr std::uint32_t kPatience =
      64;  // tests that find nothing before lazy announcements go
  std::vector<Announcement> announcements_ GUARDED_BY(mutex_);
  bool announcements_due_ GUARDED_BY(mutex_) = false;
  std::uint32_t fruitless_tests_ GUARDED_BY(mutex_) = 0;
  std::uint64_t unreturned_ GUARDED_BY(mutex_) = 0;      // requests of all communicators
  std::int64_t needed_since_ms_ GUARDED_BY(mutex_) = 0;  // see is_needed(); 0: is not
  std::int64_t stalls_quiet_until_ms_ GUARDED_BY(mutex_) = 0;
  StateAnswers told_ GUARDED_BY(mutex_);
  std::vector<std::string> differences_ GUARDED_BY(mutex_);  // between peers, that were told
  // Payload of eager messages that no receive has taken yet: slabs, so that a pointer stays valid.
  std::vector<std::unique_ptr<std::byte[]>> spill_ GUARDED_BY(mutex_);
  std::vector<std::int32_t> free_spill_ GUARDED_BY(mutex_);
};

}  // namespace fabrail::transport
