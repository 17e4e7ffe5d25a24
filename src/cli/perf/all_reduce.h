// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Ring all-reduce of float32 over the plugin.
#pragma once

#include <optional>
#include <vector>

#include "src/cli/perf/buffer.h"
#include "src/cli/perf/connections.h"
#include "src/cli/perf/plan.h"
#include "src/cli/perf/queue.h"
#include "src/cli/perf/ring.h"

namespace fabrail::cli::perf {

/// One rank's part of an all-reduce over the ring 0 -> 1 -> ... -> 0. Slices travel as soon as
/// what they depend on is there, so that the steps of different slices overlap.
class AllReduce {
 public:
  static std::vector<Edge> edges(int ranks);

  AllReduce(Plugin& plugin, Connections connections, int rank, int ranks,
            const std::vector<Plan>& plans);

  void begin(const Plan& plan);
  /// Values of this rank for a checked iteration.
  void fill(uint64_t iteration);
  void run(Poller& poller);
  void corrupt();
  uint64_t count_wrong(uint64_t iteration) const;
  uint64_t messages() const { return layout_->transfers(); }  ///< sent by this rank, per iteration
  void close();

 private:
  bool post_receive();
  bool post_send();
  bool finish_receive();
  bool finish_send();
  bool receives_into_scratch(uint64_t transfer) const { return layout_->reduces(transfer); }
  std::byte* scratch(uint64_t transfer) const;
  void add_received(uint64_t transfer);

  Plugin& plugin_;
  int rank_;
  int ranks_;
  unsigned depth_;
  Buffer input_;
  Buffer output_;
  Buffer scratch_;  ///< what has been received and not yet added, one slice for each of `depth`
  SendComm next_;
  RecvComm previous_;
  Registration input_registration_;
  Registration output_send_registration_;
  Registration output_recv_registration_;
  Registration scratch_registration_;
  size_t elements_ = 0;
  std::optional<RingLayout> layout_;
  std::optional<SendQueue> sends_;
  std::optional<RecvQueue> receives_;
};

}  // namespace fabrail::cli::perf
