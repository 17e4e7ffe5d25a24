// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Turns knobs and plants faults.
#include "tests/sim/efa/cli/changes.h"

#include <charconv>
#include <sstream>

#include "tests/sim/efa/core/clock.h"

namespace fabrail::sim {
namespace {

template <typename T, typename V>
void set(std::atomic<T>& knob, const std::optional<V>& value) {
  if (value) knob.store(static_cast<T>(*value));
}

}  // namespace

void apply_shape(DeviceState& device, const ShapeChange& change) {
  Shape& shape = device.shape;
  set(shape.rate_bytes_per_s, change.rate_bytes_per_s);
  set(shape.latency_ns, change.latency_ns);
  set(shape.jitter_ns, change.jitter_ns);
  set(shape.shuffle_window, change.shuffle_window);
  set(shape.seed, change.seed);
  set(shape.max_qps, change.max_qps);
  set(shape.max_regions, change.max_regions);
  set(shape.max_ahs, change.max_ahs);
  if (change.unresponsive_ns)
    shape.unresponsive_ms.store(static_cast<uint32_t>(*change.unresponsive_ns / kMillisecond));
}

bool apply_link_action(DeviceState& device, const std::string& action) {
  if (action == "link-down")
    device.shape.link_down = 1;
  else if (action == "link-up")
    device.shape.link_down = 0;
  else if (action == "lose")
    device.shape.lost = 1;
  else
    return false;
  return true;
}

std::optional<uint32_t> find_fault_action(const std::string& word) {
  struct Word {
    const char* name;
    FaultAction action;
  };
  constexpr Word kWords[] = {
      {"fail", kFaultFail},       {"delay", kFaultDelay},  {"not-ready", kFaultNotReady},
      {"stall", kFaultStall},     {"drop", kFaultDrop},    {"duplicate", kFaultDuplicate},
      {"corrupt", kFaultCorrupt}, {"tear-8", kFaultTear8}, {"tear-128", kFaultTear128}};
  for (const Word& each : kWords)
    if (word == each.name) return each.action;
  return std::nullopt;
}

std::optional<uint32_t> parse_operations(const std::string& words) {
  uint32_t set = 0;
  std::istringstream stream(words);
  for (std::string word; std::getline(stream, word, ',');) {
    if (word == "send")
      set |= kOnSend;
    else if (word == "read")
      set |= kOnRead;
    else if (word == "write")
      set |= kOnWrite;
    else if (word == "any")
      set |= kOnAny;
    else
      return std::nullopt;
  }
  return set == 0 ? std::nullopt : std::optional(set);
}

std::optional<Address> parse_peer(const std::string& text) {
  Address address;
  const char* end = text.data() + text.size();
  const auto node = std::from_chars(text.data(), end, address.node);
  if (node.ec != std::errc{} || node.ptr == end || *node.ptr != ':') return std::nullopt;
  const auto nic = std::from_chars(node.ptr + 1, end, address.device);
  return nic.ec == std::errc{} && nic.ptr == end ? std::optional(address) : std::nullopt;
}

void mend(DeviceState& device, std::optional<uint32_t> rule) {
  if (rule) {
    lift(device, *rule);
    return;
  }
  lift_all(device);
  device.shape.link_down = 0;
}

}  // namespace fabrail::sim
