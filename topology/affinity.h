// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which NICs stand together as one NCCL device, and which GPUs they serve: decided from the PCI
// tree alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topology/pci_tree.h"

namespace fabrail::topology {

/// A NIC to be grouped.
struct NicPlace {
  std::size_t nic = 0;          ///< the caller's name for it
  int node = 0;                 ///< in the tree
  int network = 0;              ///< NICs of different networks are no rails of one device
  std::uint64_t node_guid = 0;  ///< EFA's names its network card and function; 0 if unknown
};

struct AffinityRules {
  std::size_t max_rails = 0;       ///< no larger groups; 0 for no limit
  std::size_t orphan_rails = 1;    ///< size of groups near no GPU, where no other group sets it
  bool leave_orphans_out = false;  ///< NICs that share no PCI level with a GPU form no group
};

/// NICs that form one device, in rail order; the first is the leader.
struct Cluster {
  std::vector<NicPlace> nics = {};
  std::vector<int> gpus = {};  ///< nodes of the GPUs for which it is the nearest
};

struct Affinity {
  std::vector<Cluster> clusters = {};  ///< in the order of their leaders' addresses
  std::vector<NicPlace> left_out = {};
};

/// Groups `nics` by the GPUs in `tree`.
///
/// Every GPU asks for a group at the first level above it that has a NIC beneath. Every NIC belongs
/// to the first level above it that a GPU asked at, and there the NICs are dealt to as many groups
/// as were asked for. So a GPU gets its share of the nearest NICs however unevenly they are spread.
Affinity group_nics(const PciTree& tree, std::span<const NicPlace> nics,
                    const AffinityRules& rules);

}  // namespace fabrail::topology
