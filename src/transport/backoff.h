// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// When to try again what the provider had no room for.
#pragma once

#include <cstdint>

namespace fabrail::transport {

/// Counts in polls of a rail, not in time: the data path reads no clock. Each refusal adds a
/// sixteenth of the wait so far: that delays nobody noticeably, and what never leaves (a farewell
/// to a peer that is gone, which with tcp means a connection attempt each time) soon costs nothing.
class Backoff {
 public:
  void start(std::uint64_t now) { since_ = due_ = now; }
  void refused(std::uint64_t now) { due_ = now + 1 + (now - since_) / 16; }
  [[nodiscard]] std::uint64_t due() const { return due_; }

 private:
  std::uint64_t since_ = 0;
  std::uint64_t due_ = 0;
};

}  // namespace fabrail::transport
