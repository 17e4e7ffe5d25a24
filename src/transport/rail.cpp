// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/rail.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include <rdma/fi_rma.h>

namespace fabrail::transport {

namespace {

// Keys below this are the rail's own; registrations of the MR cache come after.
constexpr std::uint64_t kReceiveKey = 1;
constexpr std::uint64_t kBounceKey = 2;

}  // namespace

void Rail::Unmap::operator()(std::byte* memory) const noexcept { munmap(memory, bytes); }

Result<std::unique_ptr<Rail>> Rail::open(const fabric::Library& library, const fabric::Nic& nic,
                                         fabrail_counters_t& counters) {
  FR_TRY_ASSIGN(fabric::Endpoint endpoint, fabric::Endpoint::open(library, nic));
  std::unique_ptr<Rail> rail(new Rail(std::move(endpoint), counters));
  FR_TRY(rail->open_buffers());
  return rail;
}

Status Rail::open_buffers() {
  // Mapped, not allocated: a page costs memory only once it is used.
  const auto map = [](std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return Mapping(memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory), Unmap{bytes});
  };
  receive_memory_ = map(kReceives * kBufferBytes);
  bounce_memory_ = map(kBounces * kBufferBytes + kLandingBytes);
  if (!receive_memory_ || !bounce_memory_)
    return make_error(Code::kSystem, ENOMEM, "no memory for control buffers");
  FR_TRY(register_buffers());
  carve_buffers();
  return {};
}

Status Rail::register_buffers() {
  if (!endpoint_.caps().local_registration) return {};
  const auto open = [&](const Mapping& memory, std::uint64_t key) {
    return fabric::MemoryRegion::open(endpoint_, {memory.get(), memory.get_deleter().bytes}, key);
  };
  FR_TRY_ASSIGN(receive_region_, open(receive_memory_, kReceiveKey));
  FR_TRY_ASSIGN(bounce_region_, open(bounce_memory_, kBounceKey));
  return {};
}

void Rail::carve_buffers() {
  const fi_info& info = *endpoint_.nic().info;
  const std::size_t ops = std::clamp(info.tx_attr->size, std::size_t{16}, kMaxOps);
  const std::size_t receives = std::clamp(info.rx_attr->size, std::size_t{16}, kReceives);
  ops_ = std::make_unique<Op[]>(ops);
  op_count_ = ops;
  for (std::size_t i = ops; i-- > 0;) release(ops_[i]);
  free_bounces_.reserve(kBounces);
  for (std::size_t i = kBounces; i-- > 0;)
    free_bounces_.push_back(bounce_memory_.get() + i * kBufferBytes);
  shorts_.reserve(kShortBacklog + kWindow);
  receives_ = std::make_unique<ReceiveBuffer[]>(receives);
  for (std::size_t i = 0; i < receives; ++i) {
    receives_[i].data = receive_memory_.get() + i * kBufferBytes;
    post_receive(receives_[i]);
  }
}

Op* Rail::take_op() {
  Op* op = free_ops_;
  if (op != nullptr) free_ops_ = op->next;
  return op;
}

void Rail::release(Op& op) {
  if (op.bounce != nullptr) {
    free_bounces_.push_back(op.bounce);
    op.bounce = nullptr;
  }
  op.next = free_ops_;
  free_ops_ = &op;
}

std::byte* Rail::take_bounce() {
  if (free_bounces_.empty()) return nullptr;
  std::byte* bounce = free_bounces_.back();
  free_bounces_.pop_back();
  return bounce;
}

std::int64_t Rail::post(Op& op) {
  count(counters_->libfabric_posts);
  if (op.kind == OpKind::kWrite && op.notice) {
    return fi_write(endpoint_.ep(), op.data, op.bytes, op.descriptor, op.to, op.remote_address,
                    op.remote_key, static_cast<Context*>(&op));
  }
  if (op.kind == OpKind::kWrite) {
    return fi_writedata(endpoint_.ep(), op.data, op.bytes, op.descriptor, op.immediate, op.to,
                        op.remote_address, op.remote_key, static_cast<Context*>(&op));
  }
  if (op.kind == OpKind::kPlace) {
    return fi_write(endpoint_.ep(), op.bounce, op.bytes, bounce_descriptor(), op.to,
                    op.remote_address, op.remote_key, static_cast<Context*>(&op));
  }
  if (op.kind == OpKind::kFlush) {
    return fi_read(endpoint_.ep(), landing(), op.bytes, bounce_descriptor(), op.to,
                   op.remote_address, op.remote_key, static_cast<Context*>(&op));
  }
  if (op.kind == OpKind::kRead) {
    return fi_read(endpoint_.ep(), const_cast<std::byte*>(op.data), op.bytes, op.descriptor, op.to,
                   op.remote_address, op.remote_key, static_cast<Context*>(&op));
  }
  const std::int64_t rc = fi_send(endpoint_.ep(), op.bounce, op.bytes, bounce_descriptor(), op.to,
                                  static_cast<Context*>(&op));
  if (rc == 0) {
    ++messages_;
    ++open_messages_;
  }
  return rc;
}

void Rail::await_no_messages() {
  if (!endpoint_.caps().resends_in_software) return;
  given_up_ = open_messages_;
  const std::uint64_t told = endpoint_.finished_messages() + given_up_;
  uncounted_ = messages_ > told ? messages_ - told : 0;
  injected_ = false;
}

bool Rail::all_messages_finished() {
  if (!endpoint_.caps().resends_in_software) return true;
  given_up_ = std::min(given_up_, open_messages_);
  if (open_messages_ > given_up_) return false;
  // What was given up, or never counted (a peer that was forgotten takes its messages with it),
  // must not hold up the next ones.
  if (injected_ && endpoint_.finished_messages() + uncounted_ + given_up_ >= messages_)
    injected_ = false;
  return !injected_;
}

Status Rail::open_loopback() {
  FR_TRY_ASSIGN(self_, endpoint_.insert(endpoint_.address()));
  return {};
}

// Nothing depends on order, so whoever waits already is no reason not to try.
std::int64_t Rail::submit(Op& op) {
  const std::int64_t rc = post(op);
  if (rc != -FI_EAGAIN) return rc;
  count(counters_->queue_full);
  op.backoff.start(polls_);
  ops_due_ = polls_;
  op.next = waiting_;
  waiting_ = &op;
  return 0;
}

std::int64_t Rail::inject(const WaitingShort& item) {
  count(counters_->libfabric_posts);
  const std::int64_t rc =
      fi_inject(endpoint_.ep(), item.message.data.data(), item.message.bytes, item.to);
  if (rc == 0) {
    ++messages_;
    injected_ = true;
  }
  return rc;
}

void Rail::send_short(fi_addr_t to, const ShortMessage& message) {
  count(counters_->control_messages);
  count(counters_->control_bytes, message.bytes);
  WaitingShort item{.to = to, .message = message, .backoff = {}};
  if (inject(item) != -FI_EAGAIN) return;
  count(counters_->queue_full);
  item.backoff.start(polls_);
  shorts_due_ = polls_;
  shorts_.push_back(item);
}

std::int64_t Rail::retry(Op& op, Blocked& blocked) {
  if (polls_ < op.backoff.due()) return -FI_EAGAIN;
  const bool full = blocked.contains(op.to);
  const std::int64_t rc = full ? -FI_EAGAIN : post(op);
  if (rc != -FI_EAGAIN) return rc;
  if (!full) blocked.add(op.to);
  op.backoff.refused(polls_);
  return rc;
}

// Whether it has left, or never will: a refusal for good means that the peer is gone, and whoever
// waits for it finds out by probing.
bool Rail::retry(WaitingShort& item, Blocked& blocked) {
  if (polls_ < item.backoff.due()) return false;
  const bool full = blocked.contains(item.to);
  if (!full && inject(item) != -FI_EAGAIN) return true;
  if (!full) blocked.add(item.to);
  item.backoff.refused(polls_);
  return false;
}

void Rail::retry_shorts() {
  Blocked blocked;
  shorts_due_ = kNever;
  auto kept = shorts_.begin();
  auto next = shorts_.begin();
  for (; next != shorts_.end() && !blocked.full(); ++next) {
    if (retry(*next, blocked)) continue;
    shorts_due_ = std::min(shorts_due_, next->backoff.due());
    *kept++ = *next;
  }
  const auto rest = shorts_.erase(kept, next);
  if (rest == shorts_.end()) return;
  std::rotate(shorts_.begin(), rest, shorts_.end());  // the others have their turn first
  shorts_due_ = polls_ + 1;
}

// The pass ended before the operation at `link`: the next one begins with it.
void Rail::take_up_at(Op** link) {
  Op* rest = *link;
  *link = nullptr;
  Op* last = rest;
  while (last->next != nullptr) last = last->next;
  last->next = waiting_;
  waiting_ = rest;
  ops_due_ = polls_ + 1;
}

bool Rail::control_backlog(fi_addr_t to) const {
  if (shorts_.size() <= kShortBacklog) return false;
  const auto to_peer = [to](const WaitingShort& item) { return item.to == to; };
  return std::count_if(shorts_.begin(), shorts_.end(), to_peer) >
         static_cast<std::ptrdiff_t>(kShortBacklog);
}

void Rail::drop_shorts(fi_addr_t to) {
  std::erase_if(shorts_, [to](const WaitingShort& item) { return item.to == to; });
}

void Rail::post_receive(ReceiveBuffer& buffer) {
  count(counters_->libfabric_posts);
  void* descriptor = receive_region_ ? receive_region_->descriptor() : nullptr;
  const std::int64_t rc = fi_recv(endpoint_.ep(), buffer.data, kBufferBytes, descriptor,
                                  FI_ADDR_UNSPEC, static_cast<Context*>(&buffer));
  if (rc == 0) return;
  buffer.next = idle_receives_;
  idle_receives_ = &buffer;
}

void Rail::post_receives(ReceiveBuffer* list) {
  while (list != nullptr) {
    ReceiveBuffer* next = list->next;
    post_receive(*list);
    list = next;
  }
}

void Rail::post_read_receives() {
  read_receives_ = 0;
  post_receives(std::exchange(read_, nullptr));
}

void Rail::retry_receives() { post_receives(std::exchange(idle_receives_, nullptr)); }

}  // namespace fabrail::transport
