// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// TCP sockets of the rendezvous.
#include "src/cli/common/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "src/cli/common/failure.h"

namespace fabrail::cli {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (code != 0) {
    throw Failure("cannot find the rendezvous host '" + host + "': " + gai_strerror(code) +
                  "; set MASTER_ADDR or --rendezvous to an address that every rank can reach");
  }
  return {list, freeaddrinfo};
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

/// The address to bind: the one given if it is loopback, else the family's "any".
sockaddr_storage bind_address(const addrinfo& entry) {
  sockaddr_storage address{};
  std::memcpy(&address, entry.ai_addr, entry.ai_addrlen);
  if (is_loopback(entry.ai_addr)) return address;
  if (entry.ai_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    v4.sin_addr.s_addr = htonl(INADDR_ANY);
    std::memcpy(&address, &v4, sizeof v4);
  } else {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    v6.sin6_addr = in6addr_any;
    std::memcpy(&address, &v6, sizeof v6);
  }
  return address;
}

/// sockaddr is the one type that the socket calls take for every family.
const sockaddr* generic(const sockaddr_storage& address) {
  return static_cast<const sockaddr*>(static_cast<const void*>(&address));
}

Socket open_socket(int family) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw Failure(std::string("cannot open a socket: ") + std::strerror(errno));
  const int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Socket Socket::listen(const std::string& host, uint16_t port) {
  const AddressList list = resolve(host, port);
  Socket socket = open_socket(list->ai_family);
  const int on = 1;
  setsockopt(socket.descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_storage address = bind_address(*list);
  if (bind(socket.descriptor_, generic(address), list->ai_addrlen) != 0 ||
      ::listen(socket.descriptor_, SOMAXCONN) != 0) {
    throw Failure("rank 0 cannot listen on " + host + " port " + std::to_string(port) + ": " +
                  std::strerror(errno) + "; choose another with --rendezvous HOST:PORT");
  }
  return socket;
}

std::optional<Socket> Socket::connect(const std::string& host, uint16_t port) {
  const AddressList list = resolve(host, port);
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    Socket socket = open_socket(entry->ai_family);
    if (::connect(socket.descriptor_, entry->ai_addr, entry->ai_addrlen) == 0) return socket;
  }
  return std::nullopt;
}

Socket Socket::accept() const {
  int descriptor = -1;
  do {
    descriptor = accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
  } while (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (descriptor < 0) throw Failure(std::string("accept failed: ") + std::strerror(errno));
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return Socket(descriptor);
}

uint16_t Socket::local_port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  getsockname(descriptor_, static_cast<sockaddr*>(static_cast<void*>(&address)), &length);
  // sin_port and sin6_port lie at the same place.
  sockaddr_in v4{};
  std::memcpy(&v4, &address, sizeof v4);
  return ntohs(v4.sin_port);
}

bool Socket::send(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return true;
}

bool Socket::receive(std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t received = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(received));
  }
  return true;
}

void Socket::set_receive_timeout(int seconds) const {
  const timeval limit{.tv_sec = seconds, .tv_usec = 0};
  setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

}  // namespace fabrail::cli
