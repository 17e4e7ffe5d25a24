// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Owners of what a plugin hands out, and the ways to connect two sides.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/conformance/channel.h"
#include "tests/conformance/deadline.h"
#include "tests/conformance/memory.h"
#include "tests/conformance/net.h"

namespace fabrail::conformance {

/// Closes with `kClose` when it goes; `close()` does so at once and tells the plugin's answer.
template <Result (Net::*kClose)(void*) const>
class Comm {
 public:
  Comm() = default;
  Comm(const Net& net, void* comm) : net_(&net), comm_(comm) {}
  Comm(Comm&& other) noexcept : net_(other.net_), comm_(std::exchange(other.comm_, nullptr)) {}
  Comm& operator=(Comm&& other) noexcept {
    std::swap(net_, other.net_);
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~Comm() {
    if (comm_ != nullptr) (net_->*kClose)(comm_);
  }

  void* get() const { return comm_; }
  explicit operator bool() const { return comm_ != nullptr; }
  Result close() { return (net_->*kClose)(std::exchange(comm_, nullptr)); }
  void leak() { comm_ = nullptr; }

 private:
  const Net* net_ = nullptr;
  void* comm_ = nullptr;
};

using SendComm = Comm<&Net::close_send>;
using RecvComm = Comm<&Net::close_recv>;
using ListenComm = Comm<&Net::close_listen>;

/// A registration of host memory; deregistered when it goes. Must go before its comm does.
class Mr {
 public:
  Mr(const Net& net, void* comm, Bytes bytes);
  Mr(Mr&& other) noexcept;
  Mr& operator=(Mr&&) = delete;
  ~Mr();

  void* get() const { return mhandle_; }
  Result result() const { return result_; }
  Result deregister();
  void leak() { owned_ = false; }

 private:
  const Net* net_;
  void* comm_;
  void* mhandle_ = nullptr;
  Result result_;
  bool owned_;
};

/// What listen fills and connect reads; NCCL copies it around by value.
struct Handle {
  alignas(8) std::array<std::byte, NCCL_NET_HANDLE_BYTES> bytes{};
};

struct Listener {
  Handle handle;
  ListenComm comm;
};

/// A send comm and a receive comm: connected to each other (loopback), or both to the same peer.
struct Pair {
  SendComm send;
  RecvComm recv;
  explicit operator bool() const { return send && recv; }
};

/// What one call of connect or accept said. `comm` is NULL for "not yet" and for an error.
struct PollResult {
  Result result;
  void* comm;
};

/// Each checks that the call wrote its comm argument as the contract wants.
PollResult poll_connect(const Net& net, Handle& handle, int dev = 0);
PollResult poll_accept(const Net& net, const ListenComm& listen);

/// Listens; on failure reports a test failure and returns an empty comm.
Listener open_listener(const Net& net, int dev = 0);

enum class Order { kConnectFirst, kAcceptFirst };

/// Connects `handle` to `listen` in this process, alternating both calls. Empty on failure.
Pair connect_to(const Net& net, const ListenComm& listen, Handle handle, int dev = 0,
                Order order = Order::kConnectFirst);

/// listen, connect, accept, closeListen in this process. Empty on failure, which it reports.
Pair connect_loopback(const Net& net, int dev = 0, Order order = Order::kConnectFirst);

std::vector<Pair> connect_many(const Net& net, size_t count);

/// One direction each way between two processes: both call it. Empty on failure.
Pair connect_to_peer(const Net& net, Channel& channel);

}  // namespace fabrail::conformance
