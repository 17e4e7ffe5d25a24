// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Two engines in one process, on the tcp provider over loopback: what the plugin's doors cannot
// show, such as sides with different numbers of rails.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "src/transport/engine.h"

namespace fabrail::transport {

/// A sender and a receiver of one connection.
struct Connection {
  SendComm* send = nullptr;
  RecvComm* recv = nullptr;
};

/// Opens engines on loopback and connects them. Skips the test where libfabric is missing.
class TwoEngines : public testing::Test {
 protected:
  void SetUp() override;

  std::unique_ptr<Engine> open(std::size_t rails);
  Connection connect(Engine& sender, Engine& receiver);
  /// A rail of nobody's engine, to send anything with.
  std::unique_ptr<Rail> stranger();

  /// Calls `step` until it returns true; fails the test after 20 seconds.
  static void until(const std::function<bool()>& step);

  Logger logger_;
  fabrail_counters_t counters_{};
  EngineSettings settings_{.eager_bytes = 8192,
                           .min_stripe_bytes = 4096,
                           .connect_timeout_ms = 20000,
                           .probe_ms = 0,
                           .timeout_ms = 0};

 private:
  fabric::Library library_;
  fabric::Discovery discovery_;
};

}  // namespace fabrail::transport
