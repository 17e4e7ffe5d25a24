// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Messages in flight in one direction of one communicator, in the order that NCCL keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/cli/perf/plugin.h"

namespace fabrail::cli::perf {

/// A piece of a registered buffer.
struct Piece {
  std::byte* address = nullptr;
  size_t bytes = 0;
  void* mhandle = nullptr;
};

/// A window of at most `depth` requests of one kind; they end in the order of posting.
class RequestQueue {
 public:
  explicit RequestQueue(unsigned depth) : requests_(depth), pieces_(depth) {}

  bool has_room() const { return posted_ - done_ < requests_.size(); }
  uint64_t posted() const { return posted_; }
  uint64_t done() const { return done_; }
  bool idle() const { return posted_ == done_; }

 protected:
  /// Takes a request that the plugin gave; false for the NULL of "not now".
  bool add(void* request, const Piece& piece);
  /// True when the oldest request has ended: its bytes are checked against what was posted.
  bool step(Plugin& plugin, const char* direction);

 private:
  std::vector<void*> requests_;
  std::vector<Piece> pieces_;
  uint64_t posted_ = 0;
  uint64_t done_ = 0;
};

class SendQueue : public RequestQueue {
 public:
  SendQueue(Plugin& plugin, void* comm, int tag, unsigned depth)
      : RequestQueue(depth), plugin_(plugin), comm_(comm), tag_(tag) {}

  /// False when the window is full or the plugin cannot take it now.
  bool post(const Piece& piece);
  /// True when one more send has ended.
  bool step() { return RequestQueue::step(plugin_, "sent"); }

 private:
  Plugin& plugin_;
  void* comm_;
  int tag_;
};

class RecvQueue : public RequestQueue {
 public:
  RecvQueue(Plugin& plugin, void* comm, int tag, unsigned depth)
      : RequestQueue(depth), plugin_(plugin), comm_(comm), tag_(tag) {}

  bool post(const Piece& piece);
  bool step() { return RequestQueue::step(plugin_, "received"); }

 private:
  Plugin& plugin_;
  void* comm_;
  int tag_;
};

}  // namespace fabrail::cli::perf
