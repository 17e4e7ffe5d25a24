// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Another process's engine, as ours reaches it: shared by all communicators between the two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/transport/messages.h"
#include "src/transport/rail.h"

namespace fabrail::transport {

/// A peer's rails, ours inserted into our address vectors: our rail i talks to its rail i.
struct Peer {
  ProcessIdentity identity;
  std::string name;  ///< host, process and address, for people
  std::vector<std::vector<std::byte>> addresses;
  std::array<fi_addr_t, kMaxRails> to{};
  std::uint32_t rails = 0;    ///< rails reachable from us
  std::uint32_t users = 0;    ///< communicators, and operations under way
  bool dead = false;          ///< proven, or out of reach
  bool ended = false;         ///< its process is no more
  bool cut_off = false;       ///< it will hear nothing more of us (see renewal.cpp)
  bool unresponsive = false;  ///< did not answer a revocation in time
  bool stalled = false;       ///< kept our reads for longer than that
  bool probing = false;       ///< a probe is under way
};

/// Why no new connection to a peer that is cut off comes about.
Error cut_off_error(const Peer& peer);

/// Finds and keeps peers.
/// Thread  the engine's mutex.
class PeerTable {
 public:
  /// The peer with this first address and identity; new ones are inserted into the rails' address
  /// vectors. A peer first known by its handle alone (one address) gets its other rails when they
  /// are known.
  ///
  /// Errors  kSystem if the provider refuses an address, kInvalidArgument if it cannot be one.
  Result<Peer*> find_or_add(std::span<const std::unique_ptr<Rail>> rails, const Party& party);

  /// Gives up one use of a peer. Unused ones are kept, within limits: the next connection to the
  /// same process is the likeliest one.
  void drop(std::span<const std::unique_ptr<Rail>> rails, Peer& peer);

  [[nodiscard]] std::size_t size() const { return peers_.size(); }

  template <typename Visit>
  void for_each(Visit&& visit) {
    for (auto& peer : peers_) visit(*peer);
  }

 private:
  static constexpr std::size_t kMaxUnused = 256;

  Peer* find(const Party& party);
  static Status extend(std::span<const std::unique_ptr<Rail>> rails, const Party& party,
                       Peer& peer);
  static void forget_addresses(std::span<const std::unique_ptr<Rail>> rails, const Peer& peer);
  void evict(std::span<const std::unique_ptr<Rail>> rails);

  std::vector<std::unique_ptr<Peer>> peers_;
};

/// Whether `address` has the form of this endpoint's own: only then may the provider see it.
bool plausible_address(const fabric::Endpoint& endpoint, std::span<const std::byte> address);

}  // namespace fabrail::transport
