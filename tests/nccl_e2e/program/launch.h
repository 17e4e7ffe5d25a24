// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Starts one process for each rank, all on this machine. NCCL_HOSTID makes NCCL believe in as many
// nodes as wanted; with the emulated GPU each node has GPUs of its own.
#pragma once

#include <nccl.h>
#include <pthread.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace nccl_test {

struct Job {
  int nodes = 1;
  int gpus_per_node = 1;
  int timeout_s = 300;
  /// Words that start a program on a node, whose number takes the place of "{}"; none: all ranks
  /// run where this program does.
  std::vector<std::string> on_node = {};
  std::vector<std::string> arguments = {};  ///< this program's own, for `on_node`
  int rank = -1;                            ///< this process is one that `on_node` started
  int shared_memory = -1;                   ///< its descriptor of what all share

  [[nodiscard]] int ranks() const { return nodes * gpus_per_node; }
};

/// What one rank measured in one row of the table.
struct Measurement {
  double seconds = 0;  ///< of one iteration
  std::size_t wrong = 0;
};

/// Memory that all processes of the job share.
struct Shared {
  static constexpr int kMaxRanks = 4096;

  pthread_barrier_t barrier;
  ncclUniqueId id;
  Measurement measurements[kMaxRanks];

  void wait_for_all() { pthread_barrier_wait(&barrier); }
};

/// Runs `body(rank, shared)` in a process for each rank; what it returns is that process's status.
/// With `on_node` that process is this program again, with the arguments --rank and
/// --shared-memory. Returns  0 if all did, else the first status that was not. A rank that fails
/// takes the others with it, since they would wait for it for ever; a timeout ends all with status
/// 124.
int launch(const Job& job, const std::function<int(int rank, Shared* shared)>& body);

/// Binds the GPU of this rank.
void bind_gpu(const Job& job, int rank);

/// A communicator of all ranks; called by all of them.
ncclComm_t open_communicator(const Job& job, int rank, Shared* shared);

}  // namespace nccl_test
