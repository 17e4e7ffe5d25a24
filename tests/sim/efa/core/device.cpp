// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Queue pair numbers of a NIC, shared by all processes of its node.
#include "tests/sim/efa/core/device.h"

#include <unistd.h>

#include "tests/sim/efa/core/sysfs_tree.h"

namespace fabrail::sim {

Device::Device(Fabric& fabric, Engine& engine, Nic nic, const PciFunction& function,
               const std::string& sysfs)
    : fabric_(fabric),
      engine_(engine),
      nic_(nic),
      opener_(getpid()),
      name_(device_name(function.address)),
      counters_(*nic.state, ib_class_path(sysfs, name_) + "/ports/1/hw_counters") {}

bool Device::is_up() const {
  return nic_.state->shape.link_down.load(std::memory_order_relaxed) == 0 && !is_lost();
}

uint32_t Device::add_listener(PortListener listener) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.emplace(next_listener_, std::move(listener));
  return next_listener_++;
}

void Device::remove_listener(uint32_t number) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.erase(number);
}

void Device::observe_port() {
  const std::lock_guard lock(listeners_mutex_);
  const bool up = is_up();
  const bool lost = is_lost();
  if (up == was_up_ && lost == was_lost_) return;
  const PortChange change = lost ? PortChange::kLost : up ? PortChange::kUp : PortChange::kDown;
  was_up_ = up;
  was_lost_ = lost;
  for (const auto& [number, listener] : listeners_) listener(change);
}

std::optional<uint32_t> Device::take_qpn() {
  DeviceState& state = *nic_.state;
  bury_the_dead();
  if (state.open_qps.fetch_add(1) < state.shape.max_qps.load()) {
    for (uint32_t i = 0; i < kMaxQps; ++i) {
      // Numbers come round late, so that a stale one names nobody for a while.
      const uint32_t qpn = 1 + state.next_qpn.fetch_add(1) % (kMaxQps - 1);
      ProcessToken owner = 0;
      if (!state.qp_owner[qpn].compare_exchange_strong(owner, membership().token())) continue;
      own_qps_.fetch_add(1, std::memory_order_relaxed);
      return qpn;
    }
  }
  state.open_qps.fetch_sub(1);
  return std::nullopt;
}

void Device::release_qpn(uint32_t qpn) {
  free_qpn(qpn);
  own_qps_.fetch_sub(1, std::memory_order_relaxed);
}

void Device::free_qpn(uint32_t qpn) {
  unlink(fabric_.qp_path(nic_.address, qpn).c_str());
  nic_.state->qp_owner[qpn].store(0);
  nic_.state->open_qps.fetch_sub(1);
}

/// Removes what queue pairs of killed processes left behind.
void Device::bury_the_dead() {
  for (uint32_t qpn = 1; qpn < kMaxQps; ++qpn) {
    ProcessToken owner = nic_.state->qp_owner[qpn].load();
    if (owner == 0 || membership().alive(owner)) continue;
    if (nic_.state->qp_owner[qpn].compare_exchange_strong(owner, membership().token())) bury(qpn);
  }
}

void Device::bury(uint32_t qpn) {
  if (auto state = SharedFile<QpState>::open(fabric_.qp_path(nic_.address, qpn))) {
    state->phase.store(QpPhase::kDead);
    for (uint32_t i = 0; i < kMaxInboundRings; ++i)
      if (state->rings[i].word.load() != 0) unlink(fabric_.ring_path(nic_.address, qpn, i).c_str());
  }
  free_qpn(qpn);
}

}  // namespace fabrail::sim
