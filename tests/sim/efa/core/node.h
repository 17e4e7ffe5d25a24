// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The pretended machine that this process runs on, with its NICs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/efa/core/device.h"

namespace fabrail::sim {

class Node {
 public:
  /// Makes the node's files if need be. Null on failure; `error` says why.
  static std::unique_ptr<Node> open(Fabric& fabric, uint16_t number, std::string& error);

  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  const std::string& sysfs() const { return sysfs_; }
  Engine& engine() { return engine_; }

 private:
  Node(Fabric& fabric, std::string sysfs);
  void keep_house();

  std::string sysfs_;
  std::vector<std::unique_ptr<Device>> devices_;
  Engine engine_;  // last: its thread must stop before the devices go
};

}  // namespace fabrail::sim
