// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Communicators between ranks, set up the way NCCL does it, and their owners.
#pragma once

#include <utility>
#include <vector>

#include "src/cli/common/rendezvous.h"
#include "src/cli/perf/buffer.h"
#include "src/cli/perf/plugin.h"
#include "src/cli/perf/poller.h"

namespace fabrail::cli::perf {

/// Owner of a pointer that the plugin gave and takes back with `kClose`.
template <void (Plugin::*kClose)(void*)>
class Comm {
 public:
  Comm() = default;
  Comm(Plugin& plugin, void* comm) : plugin_(&plugin), comm_(comm) {}
  Comm(Comm&& other) noexcept
      : plugin_(other.plugin_), comm_(std::exchange(other.comm_, nullptr)) {}
  Comm& operator=(Comm&& other) noexcept {
    std::swap(plugin_, other.plugin_);
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~Comm() {
    try {
      close();
    } catch (const std::exception&) {
      // Reached with an open comm only on the way out of another failure, which tells more.
    }
  }

  void* get() const { return comm_; }
  explicit operator bool() const { return comm_ != nullptr; }
  /// Gives it back now, so that an error is seen.
  void close() {
    if (comm_ != nullptr) (plugin_->*kClose)(std::exchange(comm_, nullptr));
  }

 private:
  Plugin* plugin_ = nullptr;
  void* comm_ = nullptr;
};

using SendComm = Comm<&Plugin::close_send>;
using RecvComm = Comm<&Plugin::close_recv>;
using ListenComm = Comm<&Plugin::close_listen>;

/// Owner of a registration; end it before its communicator.
class Registration {
 public:
  Registration() = default;
  Registration(Plugin& plugin, void* comm, std::byte* address, size_t bytes);
  Registration(Plugin& plugin, void* comm, const Buffer& buffer);
  Registration(Registration&& other) noexcept;
  Registration& operator=(Registration&& other) noexcept;
  ~Registration();

  void* get() const { return mhandle_; }
  void close();

 private:
  Plugin* plugin_ = nullptr;
  void* comm_ = nullptr;
  void* mhandle_ = nullptr;
};

/// One direction between two ranks.
struct Edge {
  int from = 0;
  int to = 0;
};

/// By edge, in the order asked for; empty where this rank is not that end.
struct Connections {
  std::vector<SendComm> sends;
  std::vector<RecvComm> recvs;
};

/// Connects all edges at once. Collective over all ranks, with the same edges.
Connections connect(Plugin& plugin, Rendezvous& rendezvous, Poller& poller, int device,
                    const std::vector<Edge>& edges);

}  // namespace fabrail::cli::perf
