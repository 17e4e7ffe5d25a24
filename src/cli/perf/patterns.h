// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The point-to-point patterns, written once for the plugin and for libfabric itself.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "src/cli/perf/plan.h"
#include "src/cli/perf/poller.h"

namespace fabrail::cli::perf {

/// What the side that holds the clock has seen.
struct Timing {
  uint64_t elapsed_ns = 0;
  std::vector<uint64_t> samples_ns;  ///< half round trips; of latency only

  Timing& operator+=(const Timing& other) {
    elapsed_ns += other.elapsed_ns;
    samples_ns.insert(samples_ns.end(), other.samples_ns.begin(), other.samples_ns.end());
    return *this;
  }
};

inline uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// The patterns over a Link: PluginLink or RawLink.
///
/// Receives are posted ahead, as NCCL's proxy does while it has free buffer slots.
template <class Link>
class Patterns {
 public:
  Patterns(Link& link, Poller& poller, const Plan& plan)
      : link_(link), poller_(poller), plan_(plan) {}

  /// Sends, waits for the answer, `count` times.
  Timing ping(uint64_t count) {
    Timing timing;
    timing.samples_ns.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      // At depth 1 the receive of this answer has to be posted here, before its question.
      post_receives(i + 1);
      const uint64_t start = now_ns();
      send_one();
      await_receive(i + 1);
      timing.samples_ns.push_back((now_ns() - start) / 2);
      post_receives(std::min(count, i + plan_.depth));
    }
    await_sends(count);
    return timing;
  }

  /// Answers `count` times.
  Timing pong(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      post_receives(i + 1);
      await_receive(i + 1);
      if (plan_.depth == 1 && i + 1 < count) post_receives(i + 2);
      send_one();
      post_receives(std::min(count, i + 1 + plan_.depth));
    }
    await_sends(count);
    return {};
  }

  /// Sends `count` messages with up to `depth` outstanding, until the other side has them all.
  Timing stream_out(uint64_t count) {
    await_post_receive(kAckBytes);
    const uint64_t start = now_ns();
    for (uint64_t posted = 0, ended = 0; ended < count;) {
      const bool moved = posted < count && link_.post_send(plan_.bytes);
      if (moved) ++posted;
      const uint64_t now_ended = link_.sent();
      if (!moved && now_ended == ended) poller_.idle();
      ended = now_ended;
    }
    await_receive(1);
    return {.elapsed_ns = now_ns() - start, .samples_ns = {}};
  }

  /// The other side of stream_out.
  Timing stream_in(uint64_t count) {
    for (uint64_t received = 0; received < count;) {
      const bool posted = link_.posted_receives() < count && link_.post_receive(plan_.bytes);
      const uint64_t now_received = link_.received();
      if (!posted && now_received == received) poller_.idle();
      received = now_received;
    }
    poller_.until([this] { return link_.post_send(kAckBytes); });
    await_sends(1);
    return {};
  }

 private:
  static constexpr uint64_t kAckBytes = 8;

  /// Posts until `wanted` receives have been posted in all, as far as the window allows.
  void post_receives(uint64_t wanted) {
    while (link_.posted_receives() < wanted && link_.post_receive(plan_.bytes)) continue;
  }

  void await_post_receive(uint64_t bytes) {
    poller_.until([&] { return link_.post_receive(bytes); });
  }

  void send_one() {
    poller_.until([this] {
      if (link_.post_send(plan_.bytes)) return true;
      link_.sent();
      link_.received();
      return false;
    });
  }

  void await_receive(uint64_t wanted) {
    poller_.until([&] {
      link_.sent();
      if (link_.received() >= wanted) return true;
      if (link_.posted_receives() < wanted) link_.post_receive(plan_.bytes);
      return false;
    });
  }

  void await_sends(uint64_t wanted) {
    poller_.until([&] { return link_.sent() >= wanted; });
  }

  Link& link_;
  Poller& poller_;
  const Plan& plan_;
};

}  // namespace fabrail::cli::perf
