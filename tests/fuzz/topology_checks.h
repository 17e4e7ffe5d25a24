// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What must hold for every machine, however odd: checked by the fuzz targets.
#pragma once

#include <string>
#include <vector>

#include "topology/nccl_lint.h"
#include "topology/nccl_xml.h"
#include "topology/topology.h"

namespace fabrail::topology {

inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// Every NIC belongs to one device or was left out, names and guids are unique, and NCCL can read
/// the file that is made for it.
inline void check_plan(const Machine& machine, const std::vector<Nic>& nics, const Plan& plan) {
  std::vector<int> uses(nics.size());
  for (const std::size_t nic : plan.left_out) ++uses.at(nic);
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    for (const GroupRail& rail : plan.groups[i].rails) ++uses.at(rail.nic);
    for (std::size_t j = 0; j < i; ++j) {
      require(plan.groups[i].name != plan.groups[j].name);
      require(plan.groups[i].guid != plan.groups[j].guid);
    }
  }
  for (const int use : uses) require(use == 1);
  const NcclXml xml = make_nccl_xml(machine, nics, plan);
  if (xml.text.empty()) return;
  for (const Finding& finding : lint_nccl_xml(xml.text, visible_devices(machine, nics, plan))) {
    require(finding.severity != Severity::kError);
  }
}

/// Plans for the tree's EFA NICs.
inline void check_machine(const Machine& machine, const Settings& settings) {
  std::vector<Nic> nics;
  for (int i = 0; i < machine.tree.size() && nics.size() < 256; ++i) {
    const PciNode& node = machine.tree.at(i);
    if (efa_generation(node) > 0) nics.push_back({.name = node.rdma_name, .pci = node.address});
  }
  check_plan(machine, nics, make_plan(machine, nics, settings));
}

}  // namespace fabrail::topology
