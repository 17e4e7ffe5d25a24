// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One thread block of a kernel, which works for one NCCL channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "tests/nccl_e2e/kernels/nccl_device.h"

namespace emunccl {

/// What a proxy leaves in a size that it has dealt with.
inline constexpr ssize_t kTakenByProxy = -1;

inline std::uint64_t load_acquire(const std::uint64_t* counter) {
  return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}
inline void store_release(std::uint64_t* counter, std::uint64_t value) {
  __atomic_store_n(counter, value, __ATOMIC_RELEASE);
}

/// One direction to one peer: buffers and counters that are shared with a proxy thread or, inside a
/// node, with the peer's kernel.
struct Connection {
  ncclConnInfo* info = nullptr;
  std::uint64_t* head = nullptr;  ///< advanced by the receiver
  std::uint64_t* tail = nullptr;  ///< advanced by the sender
  ncclConnFifo* fifo = nullptr;   ///< between kernel and proxy; null without a proxy
  std::uint64_t step = 0;

  explicit Connection(ncclConnInfo* shared);

  [[nodiscard]] int slot() const { return static_cast<int>(step % NCCL_STEPS); }
  /// The buffer of this step in the Simple protocol.
  [[nodiscard]] char* simple_slot() const;
  /// The lines of this step in a protocol that is made of lines.
  template <typename Line>
  [[nodiscard]] Line* line_slot(int protocol, std::size_t lines_per_step) const {
    auto* lines = reinterpret_cast<Line*>(reach(info->buffs[protocol]));
    return lines + static_cast<std::size_t>(slot()) * lines_per_step;
  }
  /// Tells the proxy how many bytes this step has.
  void post_size(std::size_t bytes) const;
  /// Keeps the step for the next operation.
  void save() const { info->step = step; }
};

class Block {
 public:
  Block(CommAndChannels* shared, int channel_index)
      : comm(shared->comm), channel(shared->channels[channel_index]), index(channel_index) {}

  /// Polls until `ready()`. Gives the CPU away after a short spin.  Returns  false if NCCL aborts
  /// the kernel.
  template <typename Ready>
  bool wait(Ready ready) {
    for (unsigned spins = 1; !ready(); ++spins) {
      if (spins % kSpins != 0) continue;
      if (check_abort()) return false;
      std::this_thread::yield();
    }
    return true;
  }

  [[nodiscard]] bool aborted() const { return aborted_; }
  Connection send_connection(int rank, int number);
  Connection receive_connection(int rank, int number);
  [[nodiscard]] int step_bytes(int protocol) const { return comm.buffSizes[protocol] / NCCL_STEPS; }

  Comm& comm;
  ncclDevChannel& channel;
  const int index;

 private:
  static constexpr unsigned kSpins = 64;

  bool check_abort();

  std::atomic<bool> aborted_{false};
};

}  // namespace emunccl
