// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// All-to-all over the plugin.
#include "src/cli/perf/all_to_all.h"

#include <algorithm>
#include <span>

#include "src/cli/perf/pattern.h"

namespace fabrail::cli::perf {
std::vector<Edge> AllToAll::edges(int ranks) {
  std::vector<Edge> edges;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to) edges.push_back({from, to});
    }
  }
  return edges;
}

AllToAll::AllToAll(Plugin& plugin, Connections connections, int rank, int ranks,
                   const std::vector<Plan>& plans)
    : plugin_(plugin),
      rank_(rank),
      ranks_(ranks),
      depth_(plans.front().depth),
      input_(largest_bytes(plans)),
      output_(largest_bytes(plans)) {
  const std::vector<Edge> all = edges(ranks);
  const auto index_of = [&](int from, int to) {
    return static_cast<size_t>(
        std::find_if(all.begin(), all.end(),
                     [&](const Edge& edge) { return edge.from == from && edge.to == to; }) -
        all.begin());
  };
  // Each rank begins with its successor, so that not all of them write to rank 0 first.
  for (int distance = 1; distance < ranks; ++distance) {
    const int peer = (rank + distance) % ranks;
    SendComm send = std::move(connections.sends[index_of(rank, peer)]);
    RecvComm recv = std::move(connections.recvs[index_of(peer, rank)]);
    Registration from(plugin, send.get(), input_.data(), input_.size());
    Registration into(plugin, recv.get(), output_.data(), output_.size());
    peers_.push_back({peer, std::move(send), std::move(recv), std::move(from), std::move(into),
                      std::nullopt, std::nullopt});
  }
}

void AllToAll::begin(const Plan& plan) {
  bytes_ = plan.bytes;
  block_bytes_ = plan.bytes / static_cast<size_t>(ranks_);
  slices_ = std::max<size_t>(1, (block_bytes_ + kSliceBytes - 1) / kSliceBytes);
}

std::byte* AllToAll::block(const Buffer& buffer, int peer) const {
  return buffer.data() + static_cast<size_t>(peer) * block_bytes_;
}

void AllToAll::fill(uint64_t iteration) {
  for (const Peer& peer : peers_) {
    perf::fill(std::span(block(input_, peer.rank), block_bytes_),
               {.from = rank_, .to = peer.rank, .bytes = bytes_, .iteration = iteration});
  }
}

void AllToAll::run(Poller& poller) {
  for (Peer& peer : peers_) {
    peer.sends.emplace(plugin_, peer.send_comm.get(), rank_, depth_);
    peer.receives.emplace(plugin_, peer.recv_comm.get(), peer.rank, depth_);
  }
  for (bool done = false; !done;) {
    bool moved = false;
    done = true;
    for (Peer& peer : peers_) {
      if (step(peer)) moved = true;
      done = done && finished(peer);
    }
    if (!moved && !done) poller.idle();
  }
}

bool AllToAll::step(Peer& peer) {
  bool moved = false;
  if (const uint64_t slice = peer.receives->posted(); slice < slices_) {
    moved = peer.receives->post(piece(output_, peer.rank, slice, peer.recv_registration.get()));
  }
  if (const uint64_t slice = peer.sends->posted(); slice < slices_) {
    moved |= peer.sends->post(piece(input_, peer.rank, slice, peer.send_registration.get()));
  }
  moved |= peer.receives->step();
  moved |= peer.sends->step();
  return moved;
}

bool AllToAll::finished(const Peer& peer) const {
  return peer.receives->done() == slices_ && peer.sends->done() == slices_;
}

Piece AllToAll::piece(const Buffer& buffer, int peer, uint64_t slice, void* mhandle) const {
  const size_t offset = slice * kSliceBytes;
  return {block(buffer, peer) + offset, std::min(kSliceBytes, block_bytes_ - offset), mhandle};
}

void AllToAll::corrupt() {
  if (block_bytes_ > 0) block(output_, peers_.front().rank)[block_bytes_ / 2] ^= std::byte{1};
}

uint64_t AllToAll::count_wrong(uint64_t iteration) const {
  uint64_t wrong = 0;
  for (const Peer& peer : peers_) {
    wrong += perf::count_wrong(
        std::span(block(output_, peer.rank), block_bytes_),
        {.from = peer.rank, .to = rank_, .bytes = bytes_, .iteration = iteration});
  }
  return wrong;
}

void AllToAll::close() {
  for (Peer& peer : peers_) {
    peer.send_registration.close();
    peer.recv_registration.close();
    peer.send_comm.close();
    peer.recv_comm.close();
  }
}

}  // namespace fabrail::cli::perf
