// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Plants fault rules and matches operations against them.
#include "tests/sim/efa/core/faults.h"

#include <algorithm>

namespace fabrail::sim {
namespace {

constexpr uint32_t kFree = 0;
constexpr uint32_t kFilling = 1;
constexpr uint32_t kActive = 2;

uint32_t operation_bit(Operation operation) { return 1u << static_cast<uint32_t>(operation); }
static_assert(kOnSend == 1u << static_cast<uint32_t>(Operation::kSend));
static_assert(kOnRead == 1u << static_cast<uint32_t>(Operation::kRead));
static_assert(kOnWrite == 1u << static_cast<uint32_t>(Operation::kWrite));

bool fits(const RuleSlot& rule, const WorkRequest& request, uint32_t qpn) {
  const auto is_any_or = [](uint32_t wanted, uint32_t any, uint32_t got) {
    return wanted == any || wanted == got;
  };
  return (rule.operations & operation_bit(request.operation)) != 0 &&
         is_any_or(rule.peer, kAnyPeer, request.to.nic.packed()) &&
         is_any_or(rule.local_qpn, 0, qpn) && is_any_or(rule.remote_qpn, 0, request.to.qpn);
}

/// Counts the operation and says whether the rule hits it.
bool hits(RuleSlot& rule, Random& random) {
  if (rule.matched.fetch_add(1) < rule.skip) return false;
  if (rule.per_million < 1'000'000 && !random.chance(rule.per_million)) return false;
  if (rule.times == 0) {
    rule.fired.fetch_add(1);
    return true;
  }
  uint64_t fired = rule.fired.load();
  while (fired < rule.times)
    if (rule.fired.compare_exchange_weak(fired, fired + 1)) return true;
  return false;
}

}  // namespace

std::optional<uint32_t> plant(DeviceState& device, const Rule& rule) {
  for (uint32_t i = 0; i < kMaxRules; ++i) {
    RuleSlot& slot = device.rules[i];
    uint32_t expected = kFree;
    if (!slot.active.compare_exchange_strong(expected, kFilling)) continue;
    slot.actions = rule.actions;
    slot.operations = rule.operations;
    slot.peer = rule.peer;
    slot.local_qpn = rule.local_qpn;
    slot.remote_qpn = rule.remote_qpn;
    slot.status = static_cast<uint32_t>(rule.status);
    slot.per_million = rule.per_million;
    slot.delay_ns = rule.delay_ns;
    slot.skip = rule.skip;
    slot.times = rule.times;
    slot.matched = 0;
    slot.fired = 0;
    slot.active.store(kActive, std::memory_order_release);
    device.active_rules.fetch_add(1);
    return i;
  }
  return std::nullopt;
}

void lift(DeviceState& device, uint32_t number) {
  uint32_t expected = kActive;
  if (number < kMaxRules && device.rules[number].active.compare_exchange_strong(expected, kFree))
    device.active_rules.fetch_sub(1);
}

void lift_all(DeviceState& device) {
  for (uint32_t i = 0; i < kMaxRules; ++i) lift(device, i);
}

Fate draw_fate(DeviceState& device, const WorkRequest& request, uint32_t qpn, Random& random) {
  Fate fate;
  if (device.active_rules.load(std::memory_order_relaxed) == 0) return fate;
  for (RuleSlot& rule : device.rules) {
    if (rule.active.load(std::memory_order_acquire) != kActive) continue;
    if (!fits(rule, request, qpn) || !hits(rule, random)) continue;
    fate.actions |= rule.actions;
    const bool tears = (rule.actions & (kFaultTear8 | kFaultTear128)) != 0;
    uint64_t& delay = tears ? fate.tear_ns : fate.delay_ns;
    delay = std::max(delay, rule.delay_ns.load());
    if (fate.has(kFaultFail)) fate.status = static_cast<Status>(rule.status.load());
  }
  return fate;
}

}  // namespace fabrail::sim
