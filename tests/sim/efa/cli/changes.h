// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// What shape, break and mend do to the NICs of a running network.
#pragma once

#include <optional>
#include <string>

#include "tests/sim/efa/cli/view.h"
#include "tests/sim/efa/core/faults.h"

namespace fabrail::sim {

/// Knobs to turn; unset: leave.
struct ShapeChange {
  std::optional<uint64_t> rate_bytes_per_s;
  std::optional<uint64_t> latency_ns;
  std::optional<uint64_t> jitter_ns;
  std::optional<uint64_t> unresponsive_ns;
  std::optional<uint32_t> shuffle_window;
  std::optional<uint32_t> seed;
  std::optional<uint32_t> max_qps;
  std::optional<uint32_t> max_regions;
  std::optional<uint32_t> max_ahs;
};
void apply_shape(DeviceState& device, const ShapeChange& change);

/// `link-down`, `link-up`, `lose`; false for another word.
bool apply_link_action(DeviceState& device, const std::string& action);

/// The fault action of a word (`fail`, `delay`, `not-ready`, `stall`, `drop`, `duplicate`,
/// `corrupt`, `tear-8`, `tear-128`).
std::optional<uint32_t> find_fault_action(const std::string& word);

/// `send`, `read,write`, `any` as a set of FaultOperation.
std::optional<uint32_t> parse_operations(const std::string& words);

/// `NODE:INDEX` of a peer NIC.
std::optional<Address> parse_peer(const std::string& text);

/// Takes one rule out, or all of them and brings the link up. A lost NIC stays lost.
void mend(DeviceState& device, std::optional<uint32_t> rule);

}  // namespace fabrail::sim
