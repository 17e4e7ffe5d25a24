// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The machines that the tests plan for: descriptions from data/, whole or with devices taken out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/machine.h"
#include "topology/topology.h"

namespace fabrail::topology::testing {

/// A machine of data/, and what the process on it can see.
struct Scene {
  std::string machine = {};                   ///< p5.48xlarge
  std::vector<std::string> hidden = {};       ///< PCI addresses that the container does not show
  std::vector<std::string> not_offered = {};  ///< NICs that libfabric does not offer
  std::int64_t reported_mbps = 100000;        ///< libfabric's speed of every NIC
  Settings settings = {};
};

std::string data_file(const std::string& name);

/// Reads data/NAME.xml; fails the test if it cannot.
Machine read_test_machine(const std::string& name);

/// The same tree without these devices, as in a container or a machine with failed cards.
PciTree without(const PciTree& tree, const std::vector<std::string>& addresses);

/// The EFA NICs of a tree, as libfabric would list them.
std::vector<Nic> efa_nics(const PciTree& tree, std::int64_t reported_mbps);

Machine machine_of(const Scene& scene);
std::vector<Nic> nics_of(const Scene& scene, const Machine& machine);
Plan plan_of(const Scene& scene);

/// Rails of each device: {4, 4, 1}.
std::vector<std::size_t> rails_of(const Plan& plan);
std::vector<std::int64_t> speeds_of(const Plan& plan);

}  // namespace fabrail::topology::testing
