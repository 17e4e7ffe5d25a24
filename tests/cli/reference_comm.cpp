// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Communicators of the reference plugin: one TCP connection on loopback for each direction.
#include "tests/cli/reference_comm.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tests/cli/reference_counters.h"

namespace fabrail::reference {
namespace {

constexpr uint64_t kMagic = 0x726566657265636e;
constexpr uint32_t kVersion = 1;
constexpr size_t kMaxCandidates = 64;

Descriptor open_socket() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return socket;
}

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

sockaddr_in loopback(uint32_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

sockaddr* generic(sockaddr_in* address) {
  return static_cast<sockaddr*>(static_cast<void*>(address));
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

Descriptor::~Descriptor() {
  if (value_ >= 0) close(value_);
}

Comm::Comm(Descriptor socket, Direction direction)
    : socket_(std::move(socket)), direction_(direction) {
  for (Request& request : requests_) request.comm = this;
}

Comm::~Comm() = default;

Request* Comm::take() {
  const auto free = std::find_if(requests_.begin(), requests_.end(),
                                 [](const Request& request) { return !request.used; });
  return free == requests_.end() ? nullptr : &*free;
}

nccl_net_result_t Comm::post(void* data, uint64_t bytes, void** request) {
  *request = nullptr;
  if (error_ != NCCL_NET_SUCCESS) return error_;
  Request* taken = take();
  if (taken == nullptr) return NCCL_NET_SUCCESS;
  *taken = {.comm = this,
            .used = true,
            .done = false,
            .data = static_cast<std::byte*>(data),
            .capacity = bytes,
            .size = bytes,
            .moved = 0};
  queue_.push_back(taken);
  if (direction_ == Direction::kSend) count_send(bytes);
  *request = taken;
  return progress();
}

nccl_net_result_t Comm::test(Request* request, int* done, int* size) {
  *done = 0;
  const nccl_net_result_t result = progress();
  // What had arrived before the connection broke is still delivered.
  if (!request->done) return result;
  *done = 1;
  if (size != nullptr) *size = static_cast<int>(request->size);
  request->used = false;
  return NCCL_NET_SUCCESS;
}

nccl_net_result_t Comm::progress() {
  while (error_ == NCCL_NET_SUCCESS && !queue_.empty()) {
    Request& front = *queue_.front();
    const bool advanced = direction_ == Direction::kSend ? step_send(front) : step_receive(front);
    if (!advanced) break;
    if (front.moved == kHeaderBytes + front.size) {
      front.done = true;
      queue_.pop_front();
      if (direction_ == Direction::kReceive) count_receive(front.size);
    }
  }
  return error_;
}

/// One system call for header and payload, so that a small message is one packet.
bool Comm::step_send(Request& request) {
  const uint64_t header_moved = std::min(request.moved, kHeaderBytes);
  const uint64_t payload_moved = request.moved - header_moved;
  auto* header = static_cast<std::byte*>(static_cast<void*>(&request.size));
  std::array<iovec, 2> parts{
      iovec{.iov_base = header + header_moved, .iov_len = kHeaderBytes - header_moved},
      iovec{.iov_base = request.data + payload_moved, .iov_len = request.size - payload_moved}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return moved(sendmsg(socket_.get(), &message, MSG_NOSIGNAL), request);
}

bool Comm::step_receive(Request& request) {
  if (request.moved < kHeaderBytes) {
    auto* header = static_cast<std::byte*>(static_cast<void*>(&request.size));
    const ssize_t count =
        recv(socket_.get(), header + request.moved, kHeaderBytes - request.moved, 0);
    if (!moved(count, request)) return false;
    if (request.moved == kHeaderBytes && request.size > request.capacity) {
      fail(NCCL_NET_INVALID_USAGE);
      socket_ = Descriptor();  // the sender, too, learns that it went wrong
      return false;
    }
    return true;
  }
  const uint64_t offset = request.moved - kHeaderBytes;
  return moved(recv(socket_.get(), request.data + offset, request.size - offset, 0), request);
}

/// Takes note of a system call's result; false when the socket can do no more now.
bool Comm::moved(ssize_t count, Request& request) {
  if (count > 0) {
    request.moved += static_cast<uint64_t>(count);
    return true;
  }
  if (count < 0 && would_block()) return false;
  fail(NCCL_NET_REMOTE_ERROR);
  return false;
}

std::unique_ptr<Listener> Listener::open(ListenHandle& handle) {
  auto listener = std::make_unique<Listener>();
  listener->socket_ = open_socket();
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  const bool listening = bind(listener->socket_.get(), generic(&address), length) == 0 &&
                         ::listen(listener->socket_.get(), SOMAXCONN) == 0 &&
                         getsockname(listener->socket_.get(), generic(&address), &length) == 0 &&
                         getrandom(listener->secret_.data(), listener->secret_.size(), 0) ==
                             static_cast<ssize_t>(listener->secret_.size());
  if (!listening) return nullptr;
  handle = {.magic = kMagic,
            .secret = listener->secret_,
            .version = kVersion,
            .port = ntohs(address.sin_port),
            .attempt = 0};
  return listener;
}

nccl_net_result_t Listener::accept(std::unique_ptr<Comm>& comm) {
  take_newcomers();
  for (Candidate& candidate : candidates_) {
    if (!step(candidate)) continue;
    send_at_once(candidate.socket.get());
    const std::byte yes{1};
    const bool told = send(candidate.socket.get(), &yes, 1, MSG_NOSIGNAL) == 1;
    if (told) comm = std::make_unique<Comm>(std::move(candidate.socket), Comm::Direction::kReceive);
    candidate.failed = true;
    break;
  }
  std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.failed; });
  return NCCL_NET_SUCCESS;
}

void Listener::take_newcomers() {
  while (true) {
    Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    // Somebody who connects and never speaks must not fill the list for ever.
    if (candidates_.size() == kMaxCandidates) candidates_.erase(candidates_.begin());
    candidates_.push_back(
        {.socket = std::move(socket), .hello = {}, .received = 0, .failed = false});
  }
}

/// True when the candidate has brought the secret.
bool Listener::step(Candidate& candidate) const {
  auto* hello = static_cast<std::byte*>(static_cast<void*>(&candidate.hello));
  const ssize_t count = recv(candidate.socket.get(), hello + candidate.received,
                             sizeof(Hello) - candidate.received, 0);
  if (count < 0 && would_block()) return false;
  candidate.failed = count <= 0;
  if (candidate.failed) return false;
  candidate.received += static_cast<size_t>(count);
  if (candidate.received < sizeof(Hello)) return false;
  candidate.failed = candidate.hello.magic != kMagic || candidate.hello.secret != secret_;
  return !candidate.failed;
}

nccl_net_result_t Attempt::open(const ListenHandle& handle, std::unique_ptr<Attempt>& attempt) {
  if (handle.magic != kMagic || handle.version != kVersion) return NCCL_NET_INVALID_USAGE;
  auto opened = std::make_unique<Attempt>();
  opened->socket_ = open_socket();
  opened->hello_ = {.magic = kMagic, .secret = handle.secret};
  sockaddr_in address = loopback(handle.port);
  if (connect(opened->socket_.get(), generic(&address), sizeof address) != 0 &&
      errno != EINPROGRESS) {
    return NCCL_NET_REMOTE_ERROR;
  }
  send_at_once(opened->socket_.get());
  attempt = std::move(opened);
  return NCCL_NET_SUCCESS;
}

nccl_net_result_t Attempt::step(std::unique_ptr<Comm>& comm) {
  if (sent_ < sizeof hello_) {
    const auto* hello = static_cast<const std::byte*>(static_cast<const void*>(&hello_));
    const ssize_t count = send(socket_.get(), hello + sent_, sizeof hello_ - sent_, MSG_NOSIGNAL);
    // ENOTCONN: the kernel is still connecting.
    if (count < 0)
      return would_block() || errno == ENOTCONN ? NCCL_NET_SUCCESS : NCCL_NET_REMOTE_ERROR;
    sent_ += static_cast<size_t>(count);
    return NCCL_NET_SUCCESS;
  }
  std::byte answer{};
  const ssize_t count = recv(socket_.get(), &answer, 1, 0);
  if (count < 0 && would_block()) return NCCL_NET_SUCCESS;
  if (count != 1) return NCCL_NET_REMOTE_ERROR;
  comm = std::make_unique<Comm>(std::move(socket_), Comm::Direction::kSend);
  return NCCL_NET_SUCCESS;
}

nccl_net_result_t Attempts::step(ListenHandle& handle, std::unique_ptr<Comm>& comm) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (handle.attempt == 0) {
    std::unique_ptr<Attempt> attempt;
    const nccl_net_result_t result = Attempt::open(handle, attempt);
    if (result != NCCL_NET_SUCCESS) return result;
    handle.attempt = next_++;
    attempts_.emplace(handle.attempt, std::move(attempt));
  }
  const auto place = attempts_.find(handle.attempt);
  if (place == attempts_.end()) return NCCL_NET_INVALID_USAGE;
  const nccl_net_result_t result = place->second->step(comm);
  if (result != NCCL_NET_SUCCESS || comm != nullptr) attempts_.erase(place);
  return result;
}

}  // namespace fabrail::reference
