// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// TCP sockets of the rendezvous: one owner for each descriptor, blocking, errors as Failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace fabrail::cli {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  /// Listens on `host`; on every address of its family unless it is a loopback one, because the
  /// name that the ranks use need not be an address of this machine. Port 0: any free one.
  static Socket listen(const std::string& host, uint16_t port);

  /// Connects, or nothing while nobody listens there yet.
  static std::optional<Socket> connect(const std::string& host, uint16_t port);

  Socket accept() const;
  uint16_t local_port() const;
  int descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

  /// False when the peer is gone.
  bool send(std::span<const std::byte> bytes) const;
  bool receive(std::span<std::byte> bytes) const;

  /// Limits how long receive() waits.
  void set_receive_timeout(int seconds) const;

 private:
  int descriptor_ = -1;
};

}  // namespace fabrail::cli
