// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the kernel says about PCI devices under /sys: enough of a tree where hwloc is missing, and
// the paths and NUMA nodes that NCCL itself will read.
#pragma once

#include <cstdint>
#include <string>

#include "topology/pci_tree.h"

namespace fabrail::topology {

/// Builds the tree from `sys` (normally "/sys"). Without bus/pci the tree has no devices.
PciTree read_sysfs(const std::string& sys);

/// Fills in what hwloc does not know or knows otherwise than NCCL: each device's real path, the
/// NUMA node of each root bus, and link rates where they are missing.
void add_sysfs_details(PciTree& tree, const std::string& sys);

/// What the kernel's verbs driver says about a NIC.
struct VerbsDetails {
  std::uint64_t node_guid = 0;  ///< 0 if unknown
  std::int64_t rate_mbps = 0;   ///< 0 if unknown
};

/// Of the device `name` (rdmap79s0) under `sys`/class/infiniband; zeros if it is not there.
VerbsDetails read_verbs(const std::string& sys, const std::string& name);

}  // namespace fabrail::topology
