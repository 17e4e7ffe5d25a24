// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// All-to-all over the plugin: every rank sends one block to each other rank.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "src/cli/perf/buffer.h"
#include "src/cli/perf/connections.h"
#include "src/cli/perf/plan.h"
#include "src/cli/perf/queue.h"

namespace fabrail::cli::perf {

/// One rank's part: size/n bytes to and from each of the others, all at once.
class AllToAll {
 public:
  static std::vector<Edge> edges(int ranks);

  AllToAll(Plugin& plugin, Connections connections, int rank, int ranks,
           const std::vector<Plan>& plans);

  void begin(const Plan& plan);
  void fill(uint64_t iteration);
  void run(Poller& poller);
  void corrupt();
  uint64_t count_wrong(uint64_t iteration) const;
  uint64_t messages() const { return slices_ * peers_.size(); }
  void close();

 private:
  /// Traffic with one other rank. The block for rank p lies at p * block in the buffers.
  struct Peer {
    int rank;
    SendComm send_comm;
    RecvComm recv_comm;
    Registration send_registration;
    Registration recv_registration;
    std::optional<SendQueue> sends;
    std::optional<RecvQueue> receives;
  };

  bool step(Peer& peer);
  bool finished(const Peer& peer) const;
  Piece piece(const Buffer& buffer, int peer, uint64_t slice, void* mhandle) const;
  std::byte* block(const Buffer& buffer, int peer) const;

  Plugin& plugin_;
  int rank_;
  int ranks_;
  unsigned depth_;
  Buffer input_;
  Buffer output_;
  std::vector<Peer> peers_;
  uint64_t bytes_ = 0;
  size_t block_bytes_ = 0;
  uint64_t slices_ = 0;
};

}  // namespace fabrail::cli::perf
