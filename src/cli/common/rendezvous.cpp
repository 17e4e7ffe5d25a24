// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Where the ranks of a job meet over TCP.
#include "src/cli/common/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>

#include "src/cli/common/failure.h"

namespace fabrail::cli {
namespace {

constexpr uint64_t kMagic = 0x6661627261696c31;
constexpr uint64_t kBlobLimit = uint64_t{1} << 30;

/// The first bytes on a connection: who comes, and to which size of job.
struct Hello {
  uint64_t magic;
  int32_t rank;
  int32_t ranks;
};

template <class T>
std::span<std::byte> writable_bytes(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Rank of a newcomer, or nothing for a stranger.
std::optional<int> read_hello(const Socket& socket, int ranks) {
  // A stranger that says nothing must not hold up the job.
  socket.set_receive_timeout(5);
  Hello hello{};
  if (!socket.receive(writable_bytes(hello)) || hello.magic != kMagic) return std::nullopt;
  socket.set_receive_timeout(0);
  if (hello.ranks != ranks || hello.rank < 1 || hello.rank >= ranks) {
    throw Failure("a rank came that says it is " + std::to_string(hello.rank) + " of " +
                  std::to_string(hello.ranks) + ", but this job has " + std::to_string(ranks) +
                  ": another job uses the same port, or the launcher's variables differ; choose "
                  "another port with --rendezvous");
  }
  return hello.rank;
}

Failure lost(int rank) {
  return Failure("lost rank " + std::to_string(rank) +
                 ": its process ended or its host is unreachable; its own message says why");
}

}  // namespace

Rendezvous Rendezvous::host(Socket listener, int ranks) {
  Rendezvous rendezvous(0, ranks);
  rendezvous.peers_.resize(static_cast<size_t>(ranks) - 1);
  for (int missing = ranks - 1; missing > 0;) {
    Socket socket = listener.accept();
    const std::optional<int> rank = read_hello(socket, ranks);
    if (!rank) continue;
    Socket& slot = rendezvous.peers_[static_cast<size_t>(*rank) - 1];
    if (slot) throw Failure("rank " + std::to_string(*rank) + " came twice to the rendezvous");
    slot = std::move(socket);
    --missing;
  }
  return rendezvous;
}

Rendezvous Rendezvous::join(const std::string& host, uint16_t port, int rank, int ranks) {
  Rendezvous rendezvous(rank, ranks);
  std::optional<Socket> socket = Socket::connect(host, port);
  while (!socket) {
    // Rank 0 may start seconds later than we; the deadline ends this.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    socket = Socket::connect(host, port);
  }
  const Hello hello{.magic = kMagic, .rank = rank, .ranks = ranks};
  if (!socket->send(std::as_bytes(std::span(&hello, 1)))) throw lost(0);
  rendezvous.peers_.push_back(std::move(*socket));
  return rendezvous;
}

std::vector<Rendezvous::Blob> Rendezvous::all_gather(std::span<const std::byte> mine,
                                                     const Idle& idle) {
  if (rank_ == 0) return gather_at_root(mine, idle);
  send_blob(0, mine);
  if (idle) wait_for_any({true}, idle);
  std::vector<Blob> blobs(static_cast<size_t>(ranks_));
  for (Blob& blob : blobs) blob = receive_blob(0);
  return blobs;
}

std::vector<Rendezvous::Blob> Rendezvous::gather_at_root(std::span<const std::byte> mine,
                                                         const Idle& idle) {
  std::vector<Blob> blobs(static_cast<size_t>(ranks_));
  blobs[0].assign(mine.begin(), mine.end());
  std::vector<bool> pending(peers_.size(), true);
  while (std::find(pending.begin(), pending.end(), true) != pending.end()) {
    wait_for_any(pending, idle);
    for (size_t i = 0; i < peers_.size(); ++i) {
      pollfd entry{.fd = peers_[i].descriptor(), .events = POLLIN, .revents = 0};
      if (!pending[i] || poll(&entry, 1, 0) <= 0) continue;
      blobs[i + 1] = receive_blob(i);
      pending[i] = false;
    }
  }
  for (size_t i = 0; i < peers_.size(); ++i) {
    for (const Blob& blob : blobs) send_blob(i, blob);
  }
  return blobs;
}

/// Sleeps until a pending rank speaks. A rank that has gone ends the wait even if it is not its
/// turn: the others may be waiting for it in the data path.
void Rendezvous::wait_for_any(const std::vector<bool>& pending, const Idle& idle) const {
  std::vector<pollfd> entries;
  for (size_t i = 0; i < peers_.size(); ++i) {
    const short events = pending[i] ? POLLIN | POLLRDHUP : POLLRDHUP;
    entries.push_back({.fd = peers_[i].descriptor(), .events = events, .revents = 0});
  }
  while (poll(entries.data(), entries.size(), idle ? 0 : -1) == 0) idle();
  for (size_t i = 0; i < entries.size(); ++i) {
    const bool gone = (entries[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    // Who has spoken last of all may go at once.
    const bool has_spoken = (entries[i].revents & POLLIN) != 0;
    if (gone && !has_spoken) throw lost(peer_rank(i));
  }
}

void Rendezvous::check_alive() const {
  for (size_t i = 0; i < peers_.size(); ++i) {
    pollfd entry{.fd = peers_[i].descriptor(), .events = POLLRDHUP, .revents = 0};
    if (poll(&entry, 1, 0) > 0) throw lost(peer_rank(i));
  }
}

void Rendezvous::send_blob(size_t index, std::span<const std::byte> blob) const {
  const uint64_t length = blob.size();
  if (!peers_[index].send(std::as_bytes(std::span(&length, 1))) || !peers_[index].send(blob)) {
    throw lost(peer_rank(index));
  }
}

Rendezvous::Blob Rendezvous::receive_blob(size_t index) const {
  uint64_t length = 0;
  if (!peers_[index].receive(writable_bytes(length)) || length > kBlobLimit) {
    throw lost(peer_rank(index));
  }
  Blob blob(length);
  if (!peers_[index].receive(blob)) throw lost(peer_rank(index));
  return blob;
}

}  // namespace fabrail::cli
