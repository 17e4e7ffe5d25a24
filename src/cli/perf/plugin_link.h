// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Both directions between this rank and one other through the plugin, message by message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/cli/perf/buffer.h"
#include "src/cli/perf/connections.h"
#include "src/cli/perf/pattern.h"
#include "src/cli/perf/plan.h"
#include "src/cli/perf/queue.h"

namespace fabrail::cli::perf {

/// The two ends of a point-to-point test.
struct Ends {
  int mine = 0;
  int peer = 0;
};

/// Where message number i lies in a buffer of `depth` messages: no two that are outstanding
/// together share memory or a cache line.
uint64_t stride_of(uint64_t bytes);

/// Messages are numbered from 0 in each direction after begin(); see patterns.h for how it is used.
class PluginLink {
 public:
  /// `capacity` is the memory for outstanding messages of one direction.
  /// `gpu`  whose memory that is; null: the host's.
  PluginLink(Plugin& plugin, SendComm send, RecvComm recv, Ends ends, size_t capacity,
             const GpuMemory* gpu);

  /// Starts a pass over messages of `plan`. When `checked`, each message is filled before it is
  /// sent and compared after it was received.
  void begin(const Plan& plan, bool checked, bool corrupt);

  bool post_send(uint64_t bytes);     ///< false: the window is full, or not now
  bool post_receive(uint64_t bytes);  ///< false: the window is full, or not now
  uint64_t sent();                    ///< polls; sends that have ended
  uint64_t received();                ///< polls; receives that have ended
  uint64_t posted_receives() const { return receives_->posted(); }

  uint64_t wrong() const { return wrong_; }  ///< bytes of the last pass
  void close();

 private:
  std::byte* slot(const Buffer& buffer, uint64_t message) const;
  void fill_next(uint64_t bytes);
  void compare(uint64_t message);
  void flush(uint64_t message);
  std::span<std::byte> received_bytes(uint64_t message);

  Plugin& plugin_;
  Ends ends_;
  // Order of ending: registrations before the comms, and the memory last.
  Buffer send_buffer_;
  Buffer recv_buffer_;
  SendComm send_comm_;
  RecvComm recv_comm_;
  Registration send_registration_;
  Registration recv_registration_;
  std::optional<SendQueue> sends_;
  std::optional<RecvQueue> receives_;
  Plan plan_;
  uint64_t stride_ = 0;
  bool checked_ = false;
  bool corrupt_ = false;
  uint64_t filled_ = 0;
  uint64_t wrong_ = 0;
  std::vector<uint64_t> receive_bytes_;  ///< by slot
  std::vector<std::byte> image_;         ///< of a message in a GPU's memory
};

}  // namespace fabrail::cli::perf
