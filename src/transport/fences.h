// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Every fence of the CPU's, for memory that a GPU or a NIC also touches, each with its reason. What
// needs none, and who keeps the order there:
//
// - A completion was read, and then the CPU reads what the NIC wrote before it, or a flush begins:
//   the provider's fi_cq_read, which has the barrier between a completion and what it tells of. A
//   completion that another thread read comes with the engine's mutex.
// - A message was put into a bounce buffer or announced, and then the NIC is told of it: the
//   provider, before it rings the doorbell.
// - NCCL saw the GPU's flag, and then the NIC reads the buffer: the doorbell is a store that comes
//   only if the load said so, and such a store is never ahead of that load.
// - A receive is complete, or a flush, and then NCCL tells the GPU: NCCL has a full fence before it
//   stores the tail, which covers what was copied here by then.
// - Stores to write-combining memory or past the caches need an sfence (libibverbs asks that of its
//   users): there are none. No device memory and no doorbell is mapped here; NCCL fences its own
//   (GDRCopy), libibverbs the NIC's.
//
// Between threads std::atomic and mutexes say what they need by themselves.
#pragma once

#include <atomic>

namespace fabrail::transport {

/// Before the CPU copies a message out of the memory that isend got.
///
/// NCCL's thread has seen with a plain load that the GPU wrote it: the tail in Simple, the flags of
/// each line in LL. On arm64 a later load may be served before that one, from before the GPU's
/// writes; the engine's mutex, taken in between, does not hold back a load that came before it. On
/// x86 this is no instruction.
inline void before_copying_what_gpu_wrote() noexcept {
#ifndef __SANITIZE_THREAD__  // gcc's ThreadSanitizer knows no fences, and it sees no GPU
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

}  // namespace fabrail::transport
