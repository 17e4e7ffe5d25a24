// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One rail of this side.
#include "src/cli/pair/raw_rail.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace fabrail::cli::pair {

namespace {

constexpr std::uint32_t kMagic = 0x70616972;
constexpr std::uint64_t kNoteKey = 1;
constexpr std::uint64_t kDataKey = 2;
constexpr std::size_t kNoteBytes = 64;
constexpr std::size_t kNotes = 1024;    // receives and sends together
constexpr std::size_t kReceives = 128;  // or half of what the NIC takes
static_assert(sizeof(Note) <= kNoteBytes);

std::optional<Note> decode(const std::byte* bytes, std::size_t length) {
  Note note;
  if (length != sizeof note) return std::nullopt;
  std::memcpy(&note, bytes, sizeof note);
  if (note.magic != kMagic || note.kind > NoteKind::kDone) return std::nullopt;
  return note;
}

}  // namespace

/// Buffers and regions are in use until the endpoint is closed; the domain goes after them.
Rail::~Rail() { endpoint_.close(); }

Result<std::unique_ptr<Rail>> Rail::open(const fabric::Library& library, const fabric::Nic& nic,
                                         std::uint16_t index, std::span<std::byte> memory) {
  FR_TRY_ASSIGN(fabric::Endpoint endpoint, fabric::Endpoint::open(library, nic));
  std::unique_ptr<Rail> rail(new Rail(std::move(endpoint), index, memory));
  FR_TRY(rail->open_regions());
  return rail;
}

Status Rail::open_regions() {
  notes_.resize(kNotes * kNoteBytes);
  for (std::size_t i = 0; i < kNotes; ++i) {
    Op& op = ops_.emplace_back();
    op.note = notes_.data() + i * kNoteBytes;
    free_notes_.push_back(&op);
  }
  FR_TRY_ASSIGN(note_region_, fabric::MemoryRegion::open(endpoint_, notes_, kNoteKey));
  FR_TRY_ASSIGN(data_region_, fabric::MemoryRegion::open(endpoint_, memory_, kDataKey));
  return {};
}

RailAddress Rail::address() const {
  RailAddress address;
  const auto name = endpoint_.address();
  address.name.assign(name.begin(), name.end());
  const auto start = reinterpret_cast<std::uintptr_t>(memory_.data());
  address.base = (endpoint_.caps().virtual_addresses ? start : 0) + memory_.size() / 2;
  address.key = data_region_->key();
  return address;
}

Status Rail::connect(const std::vector<RailAddress>& peers) {
  for (const RailAddress& peer : peers) {
    FR_TRY_ASSIGN(const fi_addr_t address, endpoint_.insert(peer.name));
    peers_.push_back({address, peer.base, peer.key});
  }
  receives_ = std::min(kReceives, endpoint_.nic().info->rx_attr->size / 2 + 1);
  for (std::size_t i = 0; i < receives_; ++i) {
    Op& op = take_note();
    op.kind = Op::Kind::kReceive;
    start(op);
  }
  return {};
}

bool Rail::idle() const {
  return free_notes_.size() + receives_ == kNotes && free_writes_.size() + kNotes == ops_.size();
}

Rail::Op& Rail::take_note() {
  Op& op = *free_notes_.back();
  free_notes_.pop_back();
  return op;
}

Rail::Op& Rail::take_write() {
  // Writes of steps that were given up may never come back.
  if (free_writes_.empty()) return ops_.emplace_back();
  Op& op = *free_writes_.back();
  free_writes_.pop_back();
  return op;
}

void Rail::release(Op& op) { (op.note != nullptr ? free_notes_ : free_writes_).push_back(&op); }

void Rail::send(std::size_t peer, NoteKind kind, std::uint32_t step) {
  if (free_notes_.empty()) {
    events_.push_back({.kind = Event::Kind::kFailed,
                       .peer = peer,
                       .step = step,
                       .error = "earlier messages never left"});
    return;
  }
  Op& op = take_note();
  const Note note{.magic = kMagic, .step = step, .kind = kind, .from = index_};
  std::memcpy(op.note, &note, sizeof note);
  op.kind = Op::Kind::kSend;
  op.peer = peer;
  op.step = step;
  start(op);
}

void Rail::write(std::size_t peer, std::size_t bytes, std::uint32_t step) {
  Op& op = take_write();
  op.kind = Op::Kind::kWrite;
  op.peer = peer;
  op.step = step;
  op.bytes = bytes;
  start(op);
}

std::int64_t Rail::post(Op& op) {
  fid_ep* ep = endpoint_.ep();
  void* descriptor = note_region_->descriptor();
  switch (op.kind) {
    case Op::Kind::kReceive:
      return fi_recv(ep, op.note, kNoteBytes, descriptor, FI_ADDR_UNSPEC, &op.context);
    case Op::Kind::kSend:
      return fi_send(ep, op.note, sizeof(Note), descriptor, peers_[op.peer].address, &op.context);
    case Op::Kind::kWrite:
      break;
  }
  const Peer& peer = peers_[op.peer];
  return fi_write(ep, memory_.data(), op.bytes, data_region_->descriptor(), peer.address, peer.base,
                  peer.key, &op.context);
}

void Rail::start(Op& op) {
  const std::int64_t rc = post(op);
  if (rc == 0) return;
  if (rc == -FI_EAGAIN) {
    waiting_.push_back(&op);
    return;
  }
  fail(&op, fabric::error_text(endpoint_.library(), rc));
  release(op);
}

void Rail::retry() {
  for (std::size_t tries = waiting_.size(); tries > 0; --tries) {
    Op& op = *waiting_.front();
    waiting_.pop_front();
    start(op);
  }
}

void Rail::fail(const Op* op, std::string error) {
  Event event{.kind = Event::Kind::kFailed, .peer = kNoPeer, .error = std::move(error)};
  if (op != nullptr && op->kind != Op::Kind::kReceive) {
    event.peer = op->peer;
    event.step = op->step;
  }
  events_.push_back(std::move(event));
}

void Rail::finish(const fi_cq_data_entry& entry) {
  Op& op = *static_cast<Op*>(entry.op_context);
  if (op.kind == Op::Kind::kReceive) {
    if (const auto note = decode(op.note, entry.len); note && note->from < peers_.size()) {
      events_.push_back({.kind = Event::Kind::kNote,
                         .peer = note->from,
                         .step = note->step,
                         .note = note->kind,
                         .error = {}});
    }
    return start(op);
  }
  const bool note = op.kind == Op::Kind::kSend;
  events_.push_back({.kind = note ? Event::Kind::kNoteSent : Event::Kind::kWriteDone,
                     .peer = op.peer,
                     .step = op.step,
                     .error = {}});
  release(op);
}

void Rail::take_error() {
  fi_cq_err_entry entry{};
  if (!endpoint_.read_error(entry)) return;
  auto* op = static_cast<Op*>(entry.op_context);
  fail(op, endpoint_.error_text(entry));
  if (op != nullptr && op->kind != Op::Kind::kReceive) release(*op);
}

std::vector<Rail::Event> Rail::poll() {
  retry();
  std::array<fi_cq_data_entry, 32> entries{};
  const std::int64_t count = endpoint_.poll(entries);
  for (std::int64_t i = 0; i < count; ++i) finish(entries[static_cast<std::size_t>(i)]);
  if (count == -FI_EAVAIL) take_error();
  return std::exchange(events_, {});
}

}  // namespace fabrail::cli::pair
