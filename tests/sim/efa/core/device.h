// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// A NIC as one process sees it: its name and limits, its queue pair numbers, its address handles.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tests/sim/efa/core/address_handles.h"
#include "tests/sim/efa/core/counters.h"
#include "tests/sim/efa/core/engine.h"
#include "tests/sim/efa/core/fabric.h"

namespace fabrail::sim {

class Device {
 public:
  Device(Fabric& fabric, Engine& engine, Nic nic, const PciFunction& function,
         const std::string& sysfs);

  Fabric& fabric() { return fabric_; }
  Engine& engine() { return engine_; }
  Membership& membership() { return fabric_.membership(); }
  const Nic& nic() const { return nic_; }
  const std::string& name() const { return name_; }
  const Profile& profile() const { return fabric_.description().profile; }
  AddressHandles& handles() { return handles_; }
  CounterWriter& counters() { return counters_; }

  /// Reserves a queue pair number, unique over all processes; nullopt if all are taken.
  std::optional<uint32_t> take_qpn();
  void release_qpn(uint32_t qpn);
  /// This process has queue pairs here.
  bool in_use() const { return own_qps_.load(std::memory_order_relaxed) != 0; }
  uint32_t next_pd() { return nic_.state->next_pd.fetch_add(1) + 1; }

  /// Hears of changes of the port, from the engine thread.
  enum class PortChange { kUp, kDown, kLost };
  using PortListener = std::function<void(PortChange)>;
  uint32_t add_listener(PortListener listener);
  void remove_listener(uint32_t number);
  /// Tells the listeners what changed since the last call.
  void observe_port();

  bool is_up() const;
  /// The process that opened the device, by its number.
  int opener() const { return opener_; }
  bool is_lost() const { return nic_.state->shape.lost.load(std::memory_order_relaxed) != 0; }

 private:
  void free_qpn(uint32_t qpn);
  void bury(uint32_t qpn);
  void bury_the_dead();

  Fabric& fabric_;
  Engine& engine_;
  Nic nic_;
  int opener_;
  std::string name_;
  AddressHandles handles_;
  CounterWriter counters_;
  std::atomic<uint32_t> own_qps_{0};
  std::mutex listeners_mutex_;
  std::map<uint32_t, PortListener> listeners_;  // guarded by listeners_mutex_
  uint32_t next_listener_ = 0;
  bool was_up_ = true;
  bool was_lost_ = false;
};

}  // namespace fabrail::sim
