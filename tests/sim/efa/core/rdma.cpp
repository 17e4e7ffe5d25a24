// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// RDMA by process_vm_readv and process_vm_writev, or memcpy within a process.
#include "tests/sim/efa/core/rdma.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/sim/efa/core/device_memory.h"

namespace fabrail::sim {
namespace {

bool own_process(uint32_t pid) { return pid == static_cast<uint32_t>(getpid()); }

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

}  // namespace

namespace {

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
  const size_t bytes = copy.local.bytes;
  const bool own_target = own_process(remote.pid());
  tell_source(copy, own_target);
  const Status status =
      own_target
          ? copy_within(copy.operation, local.address(), remote.address(), bytes)
          : copy_across(copy.operation, remote.pid(), local.address(), remote.address(), bytes);
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
