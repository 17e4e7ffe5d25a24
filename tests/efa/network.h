// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The emulated network that this program was started in (`fabrail-sim run`), as its tests shape and
// break it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/conformance/peer.h"

namespace fabrail::efa {

/// Runs `fabrail-sim ARGUMENTS` on this network and gives what it prints; a failure fails the test.
std::string sim(const std::string& arguments);

/// For a Peer that shall run on this node. The test itself runs on node 0.
conformance::Environment on_node(int node);

/// What one NIC has sent in all.
struct Sent {
  uint64_t payload_bytes = 0;  ///< by RDMA or in messages: from its hw_counters
  uint64_t busy_us = 0;        ///< of a capped link's schedule, not of anybody's clock
  uint64_t idle_us = 0;
};

/// The NICs of a node, in their order.
std::vector<Sent> sent_by(int node);

}  // namespace fabrail::efa
