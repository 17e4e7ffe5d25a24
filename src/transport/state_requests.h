// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Requests, from a signal or another process, to say what every communicator is doing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace fabrail::transport {

class Engine;

/// One for all engines of a process; outlives them.
///
/// Atomics: requests come from a signal handler or another process, and engines of other devices
/// are found while they may be opened by another thread.
struct StateRequests {
  static constexpr std::size_t kMaxDevices = 128;

  const std::atomic<std::uint32_t>* signals = nullptr;  ///< requests that the log answers
  const std::atomic<std::uint32_t>* asked = nullptr;    ///< requests that answer() answers
  /// Called with an engine's mutex held.
  std::function<void(std::size_t device, std::uint32_t asked, std::string_view text)> answer;
  std::array<std::atomic<Engine*>, kMaxDevices> engines{};
};

/// The requests that somebody has answered.
struct StateAnswers {
  std::uint32_t signals = 0;
  std::uint32_t asked = 0;

  /// The requests of this moment.
  static StateAnswers due(const StateRequests& requests) {
    const auto count = [](const std::atomic<std::uint32_t>* requested) {
      return requested != nullptr ? requested->load(std::memory_order_relaxed) : 0;
    };
    return {count(requests.signals), count(requests.asked)};
  }
  bool operator==(const StateAnswers&) const = default;
};

}  // namespace fabrail::transport
