// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Opens the NICs of a node.
#include "tests/sim/efa/core/node.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace fabrail::sim {

Node::Node(Fabric& fabric, std::string sysfs)
    : sysfs_(std::move(sysfs)), engine_(fabric.membership(), [this] { keep_house(); }) {}

std::unique_ptr<Node> Node::open(Fabric& fabric, uint16_t number, std::string& error) {
  if (!fabric.prepare_node(number) || !fabric.join()) {
    error = fmt::format("{}: {}", fabric.node_path(number), std::strerror(errno));
    return nullptr;
  }
  std::unique_ptr<Node> node(new Node(fabric, fabric.node_path(number) + "/sys"));
  const auto nics = fabric.description().nics();
  for (uint16_t i = 0; i < nics.size(); ++i) {
    const Address address{number, i};
    node->devices_.push_back(std::make_unique<Device>(
        fabric, node->engine_, Nic{address, fabric.device(address)}, nics[i], node->sysfs_));
  }
  return node;
}

void Node::keep_house() {
  for (const auto& device : devices_) {
    // The others on this node write the counters of the NICs that they use.
    if (device->in_use()) device->counters().publish();
    device->observe_port();
  }
}

}  // namespace fabrail::sim
