// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// RDMA by process_vm_readv and process_vm_writev, or memcpy within a process.
#include "tests/sim/efa/core/rdma.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "tests/sim/efa/core/device_memory.h"

namespace fabrail::sim {
namespace {

bool own_process(uint32_t pid) { return pid == static_cast<uint32_t>(getpid()); }

constexpr size_t kMostPieces = 1024;
static_assert(kMostPieces <= IOV_MAX);

// What could be copied and what not, by the kernel: a target without the pages it registered is a
// bad address.
Status status_of(int code) {
  return code == ESRCH ? Status::kBadDestinationQpn : Status::kRemoteBadAddress;
}

Status copy_across(Operation operation, uint32_t pid, uint64_t local, uint64_t remote,
                   size_t bytes) {
  while (bytes != 0) {
    iovec ours{reinterpret_cast<void*>(local), bytes};
    iovec theirs{reinterpret_cast<void*>(remote), bytes};
    const auto process = static_cast<pid_t>(pid);
    const ssize_t moved = operation == Operation::kRead
                              ? process_vm_readv(process, &ours, 1, &theirs, 1, 0)
                              : process_vm_writev(process, &ours, 1, &theirs, 1, 0);
    if (moved <= 0) return status_of(errno);
    local += static_cast<uint64_t>(moved);
    remote += static_cast<uint64_t>(moved);
    bytes -= static_cast<size_t>(moved);
  }
  return Status::kOk;
}

Status copy_within(Operation operation, uint64_t local, uint64_t remote, size_t bytes) {
  auto* ours = reinterpret_cast<void*>(local);
  auto* theirs = reinterpret_cast<void*>(remote);
  if (operation == Operation::kRead)
    std::memcpy(ours, theirs, bytes);
  else
    std::memcpy(theirs, ours, bytes);
  return Status::kOk;
}

/// Pieces on their way to another process, or from it: many in one call. The kernel copies one
/// after the other.
class PieceBatch {
 public:
  PieceBatch(Operation operation, uint32_t pid) : operation_(operation), pid_(pid) {}

  Status add(uint64_t local, uint64_t remote, size_t bytes) {
    if (our_count_ == kMostPieces) {
      const Status status = send();
      if (status != Status::kOk) return status;
    }
    ours_[our_count_++] = {reinterpret_cast<void*>(local), bytes};
    // One side in pieces suffices, and their pages are looked up for each that they have.
    if (their_count_ != 0 && remote == their_end_)
      theirs_[their_count_ - 1].iov_len += bytes;
    else
      theirs_[their_count_++] = {reinterpret_cast<void*>(remote), bytes};
    their_end_ = remote + bytes;
    bytes_ += bytes;
    return Status::kOk;
  }

  Status send() {
    if (our_count_ == 0) return Status::kOk;
    const auto process = static_cast<pid_t>(pid_);
    const ssize_t moved =
        operation_ == Operation::kRead
            ? process_vm_readv(process, ours_.data(), our_count_, theirs_.data(), their_count_, 0)
            : process_vm_writev(process, ours_.data(), our_count_, theirs_.data(), their_count_, 0);
    if (moved < 0) return status_of(errno);
    if (static_cast<size_t>(moved) != bytes_) return Status::kRemoteBadAddress;
    our_count_ = their_count_ = bytes_ = 0;
    return Status::kOk;
  }

 private:
  Operation operation_;
  uint32_t pid_;
  size_t our_count_ = 0;
  size_t their_count_ = 0;
  uint64_t their_end_ = 0;
  size_t bytes_ = 0;
  std::array<iovec, kMostPieces> ours_;
  std::array<iovec, kMostPieces> theirs_;
};

Status copy_in_pieces(const RdmaCopy& copy, uint32_t pid, uint64_t local, uint64_t remote) {
  PieceBatch batch(copy.operation, pid);
  const bool own = own_process(pid);
  const uint64_t sink = copy.operation == Operation::kRead ? local : remote;
  Status status = Status::kOk;
  for_each_piece(sink, copy.local.bytes, copy.texture, [&](Piece piece) {
    status =
        own ? copy_within(copy.operation, local + piece.offset, remote + piece.offset, piece.bytes)
            : batch.add(local + piece.offset, remote + piece.offset, piece.bytes);
    return status == Status::kOk;
  });
  return status == Status::kOk ? batch.send() : status;
}

Status copy_bytes(const RdmaCopy& copy, uint32_t pid, uint64_t local, uint64_t remote) {
  if (copy.texture.kind != Texture::kPlain) return copy_in_pieces(copy, pid, local, remote);
  const size_t bytes = copy.local.bytes;
  return own_process(pid) ? copy_within(copy.operation, local, remote, bytes)
                          : copy_across(copy.operation, pid, local, remote, bytes);
}

/// The side whose bytes are taken.
void tell_source(const RdmaCopy& copy, bool own_target) {
  if (copy.operation == Operation::kWrite)
    tell_reading(copy.nic, copy.local.address, copy.local.bytes);
  else if (own_target)
    tell_reading(copy.target.nic, copy.remote.address, copy.local.bytes);
}

/// The side that has got them. Another process learns of a write when it is notified.
void tell_sink(const RdmaCopy& copy, bool own_target) {
  if (copy.operation == Operation::kRead)
    tell_written(copy.nic, copy.local.address, copy.local.bytes);
  else if (own_target)
    tell_written(copy.target.nic, copy.remote.address, copy.local.bytes);
}

}  // namespace

Status copy_rdma(Membership& membership, const RdmaCopy& copy) {
  if (copy.local.bytes == 0) return Status::kOk;
  const bool is_read = copy.operation == Operation::kRead;
  const auto local = PinnedRegion::local(membership, copy.nic, copy.local, copy.pd,
                                         is_read ? kAccessLocalWrite : kAccessNone);
  if (!local.valid()) return Status::kInvalidLkey;
  const auto remote = PinnedRegion::remote(membership, copy.target, copy.remote,
                                           is_read ? kAccessRemoteRead : kAccessRemoteWrite);
  if (!remote.valid()) return Status::kRemoteBadAddress;
  const bool own_target = own_process(remote.pid());
  tell_source(copy, own_target);
  const Status status = copy_bytes(copy, remote.pid(), local.address(), remote.address());
  tell_sink(copy, own_target);
  return status;
}

void corrupt_target(Membership& membership, const RdmaCopy& copy) {
  const auto local = PinnedRegion::local(membership, copy.nic, copy.local, copy.pd, 0);
  const auto remote =
      PinnedRegion::remote(membership, copy.target, copy.remote, kAccessRemoteWrite);
  if (!local.valid() || !remote.valid()) return;
  const auto spoilt =
      static_cast<std::byte>(*reinterpret_cast<const uint8_t*>(local.address()) ^ 0x55);
  const auto from = reinterpret_cast<uint64_t>(&spoilt);
  if (own_process(remote.pid()))
    copy_within(Operation::kWrite, from, remote.address(), 1);
  else
    copy_across(Operation::kWrite, remote.pid(), from, remote.address(), 1);
}

bool gather(Membership& membership, const Nic& nic, uint32_t pd, const WorkRequest& request,
            std::byte* to) {
  if (request.is_inline) {
    std::memcpy(to, request.inline_data.data(), request.bytes);
    return true;
  }
  for (size_t i = 0; i < request.segment_count; ++i) {
    const Segment& segment = request.segments[i];
    if (segment.bytes == 0) continue;
    const auto region = PinnedRegion::local(membership, nic, segment, pd, 0);
    if (!region.valid()) return false;
    tell_reading(nic, segment.address, segment.bytes);
    std::memcpy(to, reinterpret_cast<const void*>(region.address()), segment.bytes);
    to += segment.bytes;
  }
  return true;
}

}  // namespace fabrail::sim
