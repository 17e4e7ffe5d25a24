// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/topology/machines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace fabrail::topology::testing {

std::string data_file(const std::string& name) {
  return FABRAIL_TOPOLOGY_TESTS "/data/" + name + ".xml";
}

Machine read_test_machine(const std::string& name) {
  auto machine = read_machine_file(data_file(name), "");
  EXPECT_TRUE(machine.ok()) << machine.error().text();
  return machine.ok() ? machine.take() : Machine{};
}

PciTree without(const PciTree& tree, const std::vector<std::string>& addresses) {
  PciTree kept;
  std::map<int, int> place = {{0, 0}};
  for (int i = 1; i < tree.size(); ++i) {
    const PciNode& node = tree.at(i);
    const bool device = node.kind == NodeKind::kDevice;
    if (device && std::ranges::count(addresses, to_text(node.address)) > 0) continue;
    place[i] = kept.add(place.at(node.parent), node);
  }
  return kept;
}

std::vector<Nic> efa_nics(const PciTree& tree, std::int64_t reported_mbps) {
  std::vector<Nic> nics;
  for (int i = 0; i < tree.size(); ++i) {
    const PciNode& node = tree.at(i);
    if (efa_generation(node) == 0) continue;
    nics.push_back({.name = node.rdma_name + "-rdm",
                    .network = "efa",
                    .pci = node.address,
                    .speed_mbps = reported_mbps});
  }
  // libfabric's order is not PCI's: nothing may depend on it.
  std::ranges::reverse(nics);
  return nics;
}

Machine machine_of(const Scene& scene) {
  Machine machine = read_test_machine(scene.machine);
  machine.tree = without(machine.tree, scene.hidden);
  return machine;
}

std::vector<Nic> nics_of(const Scene& scene, const Machine& machine) {
  std::vector<Nic> nics = efa_nics(machine.tree, scene.reported_mbps);
  std::erase_if(nics, [&](const Nic& nic) {
    return std::ranges::count(scene.not_offered, to_text(*nic.pci)) > 0;
  });
  return nics;
}

Plan plan_of(const Scene& scene) {
  const Machine machine = machine_of(scene);
  return make_plan(machine, nics_of(scene, machine), scene.settings);
}

std::vector<std::size_t> rails_of(const Plan& plan) {
  std::vector<std::size_t> rails;
  for (const NicGroup& group : plan.groups) rails.push_back(group.rails.size());
  return rails;
}

std::vector<std::int64_t> speeds_of(const Plan& plan) {
  std::vector<std::int64_t> speeds;
  for (const NicGroup& group : plan.groups) speeds.push_back(group.speed_mbps);
  return speeds;
}

}  // namespace fabrail::topology::testing
