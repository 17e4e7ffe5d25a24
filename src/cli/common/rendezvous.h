// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Where the ranks of a job meet over TCP: exchange of small blobs, barriers, word of who has died.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "src/cli/common/socket.h"

namespace fabrail::cli {

/// Rank 0 holds a connection to every other rank; all calls are collective and in the same order.
class Rendezvous {
 public:
  using Blob = std::vector<std::byte>;

  /// Rank 0: waits on `listener` until ranks 1 .. `ranks`-1 have come. Strangers are dropped.
  static Rendezvous host(Socket listener, int ranks);

  /// Every other rank. Waits for rank 0 to listen; the caller's Deadline bounds that.
  static Rendezvous join(const std::string& host, uint16_t port, int rank, int ranks);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// To be called again and again while a rank waits for others; it sleeps if there is none.
  using Idle = std::function<void()>;

  /// What every rank gave, in rank order.
  std::vector<Blob> all_gather(std::span<const std::byte> mine, const Idle& idle = {});

  /// The same for a plain struct: all ranks run the same binary.
  template <class T>
  std::vector<T> all_gather_of(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> values;
    for (const Blob& blob : all_gather(std::as_bytes(std::span(&mine, 1)))) {
      T value{};
      std::memcpy(&value, blob.data(), std::min(blob.size(), sizeof value));
      values.push_back(value);
    }
    return values;
  }

  void barrier() { all_gather({}); }

  /// Throws Failure when a rank that this one is connected to has gone. Never blocks.
  void check_alive() const;

 private:
  Rendezvous(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  std::vector<Blob> gather_at_root(std::span<const std::byte> mine, const Idle& idle);
  void wait_for_any(const std::vector<bool>& pending, const Idle& idle) const;
  int peer_rank(size_t index) const { return rank_ == 0 ? static_cast<int>(index) + 1 : 0; }
  void send_blob(size_t index, std::span<const std::byte> blob) const;
  Blob receive_blob(size_t index) const;

  int rank_;
  int ranks_;
  std::vector<Socket> peers_;  ///< at rank 0: of ranks 1, 2, ...; elsewhere: of rank 0 alone
};

}  // namespace fabrail::cli
