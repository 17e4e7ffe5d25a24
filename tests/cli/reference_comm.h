// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Communicators of the reference plugin: one TCP connection on loopback for each direction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "include/nccl_net_abi.h"

namespace fabrail::reference {

/// Owner of a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return value_; }
  explicit operator bool() const { return value_ >= 0; }

 private:
  int value_;
};

/// What listen() puts into NCCL's 128 bytes.
struct ListenHandle {
  uint64_t magic;
  std::array<std::byte, 16> secret;  ///< told only in the handle: keeps strangers out
  uint32_t version;
  uint32_t port;
  uint64_t attempt;  ///< 0 after listen(); connect() keeps its place here
};
static_assert(sizeof(ListenHandle) <= NCCL_NET_HANDLE_BYTES);

/// What the connector says first.
struct Hello {
  uint64_t magic;
  std::array<std::byte, 16> secret;
};

class Comm;

/// What NCCL holds for one isend or irecv. From a fixed pool of its communicator.
struct Request {
  Comm* comm = nullptr;
  bool used = false;
  bool done = false;
  std::byte* data = nullptr;
  uint64_t capacity = 0;
  uint64_t size = 0;   ///< of the message, known to the receiver after its header
  uint64_t moved = 0;  ///< of header and payload
};

/// One established direction. Not locked: NCCL never calls isend, irecv and test of one
/// communicator concurrently, and registrations are objects of their own.
class Comm {
 public:
  enum class Direction { kSend, kReceive };

  Comm(Descriptor socket, Direction direction);
  ~Comm();

  nccl_net_result_t post(void* data, uint64_t bytes, void** request);
  nccl_net_result_t test(Request* request, int* done, int* size);

 private:
  static constexpr size_t kRequests = 256;
  static constexpr uint64_t kHeaderBytes = sizeof(uint64_t);

  Request* take();
  nccl_net_result_t progress();
  bool step_send(Request& request);
  bool step_receive(Request& request);
  bool moved(ssize_t count, Request& request);
  void fail(nccl_net_result_t result) { error_ = result; }

  Descriptor socket_;
  Direction direction_;
  std::array<Request, kRequests> requests_;
  std::deque<Request*> queue_;  ///< FIFO: the front is on the wire
  nccl_net_result_t error_ = NCCL_NET_SUCCESS;
};

/// Accepts connections that bring the secret of its handle.
class Listener {
 public:
  static std::unique_ptr<Listener> open(ListenHandle& handle);

  /// Success with an empty `comm` while nobody has come.
  nccl_net_result_t accept(std::unique_ptr<Comm>& comm);

 private:
  /// A connection that has not yet said all of its Hello.
  struct Candidate {
    Descriptor socket;
    Hello hello;
    size_t received = 0;
    bool failed = false;
  };

  void take_newcomers();
  bool step(Candidate& candidate) const;

  Descriptor socket_;
  std::array<std::byte, 16> secret_{};
  std::vector<Candidate> candidates_;
};

/// A connection attempt, advanced by each call of connect().
class Attempt {
 public:
  static nccl_net_result_t open(const ListenHandle& handle, std::unique_ptr<Attempt>& attempt);

  /// Success with an empty `comm` while the other side has not accepted.
  nccl_net_result_t step(std::unique_ptr<Comm>& comm);

 private:
  Descriptor socket_;
  Hello hello_{};
  size_t sent_ = 0;
};

/// Attempts in progress by the number in their handle: a handle never holds a pointer.
class Attempts {
 public:
  nccl_net_result_t step(ListenHandle& handle, std::unique_ptr<Comm>& comm);

 private:
  std::mutex mutex_;
  uint64_t next_ = 1;
  std::unordered_map<uint64_t, std::unique_ptr<Attempt>> attempts_;
};

}  // namespace fabrail::reference
