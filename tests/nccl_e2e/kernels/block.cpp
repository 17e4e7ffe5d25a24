// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Connections as the kernel finds them in NCCL's structures, and the abort flag.
#include "tests/nccl_e2e/kernels/block.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace emunccl {
namespace {

ncclDevChannelPeer* peer(const ncclDevChannel& channel, int rank) {
  return reach(reach(channel.peers)[rank]);
}

}  // namespace

void refuse(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::fputs("[emugpu] not emulated: ", stderr);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
  std::abort();
}

Connection::Connection(ncclConnInfo* shared)
    : info(shared),
      head(reach(shared->head)),
      tail(reach(shared->tail)),
      fifo(reach(shared->connFifo)),
      step(shared->step) {
  if (fifo == nullptr && (shared->flags & kDirectFlags) != 0) {
    refuse("direct transfers between ranks of one process (NCCL_P2P_DIRECT_DISABLE=1)");
  }
  if (shared->netDeviceHandle.netDeviceType == NCCL_NET_DEVICE_UNPACK) {
    refuse("net plugins that unpack on the device");
  }
}

char* Connection::simple_slot() const {
  char* buffer = reach(info->buffs[NCCL_PROTO_SIMPLE]);
  if (fifo != nullptr) {
    const ncclConnFifo& entry = fifo[slot()];
    if (__atomic_load_n(&entry.mode, __ATOMIC_RELAXED) == NCCL_MODE_OFFSET) {
      return buffer + __atomic_load_n(&entry.offset, __ATOMIC_RELAXED);
    }
  }
  return buffer + static_cast<std::ptrdiff_t>(slot()) * info->stepSize;
}

void Connection::post_size(std::size_t bytes) const {
  if (fifo == nullptr) return;
  __atomic_store_n(&fifo[slot()].size, static_cast<ssize_t>(bytes), __ATOMIC_RELAXED);
}

Connection Block::send_connection(int rank, int number) {
  return Connection(&peer(channel, rank)->send[number]);
}

Connection Block::receive_connection(int rank, int number) {
  return Connection(&peer(channel, rank)->recv[number]);
}

bool Block::check_abort() {
  const volatile std::uint32_t* flag = reach(comm.abortFlag);
  if (flag != nullptr && *flag != 0) aborted_ = true;
  return aborted_;
}

}  // namespace emunccl
