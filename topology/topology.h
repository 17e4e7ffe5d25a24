// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The plugin's door to this directory: NICs as libfabric shows them go in, NCCL devices with their
// properties come out, each decision with its reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/instance_types.h"
#include "topology/machine.h"
#include "topology/pci_address.h"
#include "topology/pci_tree.h"

namespace fabrail::topology {

/// A NIC as libfabric describes it (fi_info->nic).
struct Nic {
  std::string name = {};
  std::string network = {};            ///< NICs of one network reach each other; "" for none known
  std::optional<PciAddress> pci = {};  ///< none for tcp, shm and the like
  std::int64_t speed_mbps = 0;         ///< 0 if it does not say
  std::uint64_t node_guid = 0;         ///< /sys/class/infiniband/NAME/node_guid; 0 if unknown
};

/// What the plugin's configuration says.
struct Settings {
  std::string instance = {};   ///< FABRAIL_INSTANCE; empty to ask DMI
  std::int64_t max_rails = 0;  ///< FABRAIL_MAX_RAILS; 0 for no limit
};

struct GroupGpu {
  PciAddress address = {};
  Path path = Path::kMachine;  ///< from the GPU to the group's leader, hidden switches included
};

struct GroupRail {
  std::size_t nic = 0;  ///< index into the caller's list
  std::int64_t speed_mbps = 0;
};

/// One NCCL device: the NICs (rails) behind it, and the properties that NCCL plans by.
struct NicGroup {
  std::string name = {};  ///< unique: NCCL merges devices of one name
  std::vector<GroupRail> rails =
      {};                           ///< in rail order; the first is the leader, the device's place
  std::vector<GroupGpu> gpus = {};  ///< for which it is the nearest device
  std::int64_t speed_mbps = 0;      ///< sum of this device's rails
  std::uint64_t guid = 0;           ///< unique: NCCL takes equal ones for ports of one card
  int port = 1;
  float latency_us = 0;       ///< 0 for NCCL's default
  std::string pci_path = {};  ///< of the leader under /sys; empty without PCI
  int numa = -1;
  int rail_id = -1;   ///< v12: the same number on all nodes of the type; -1 if that is not certain
  int plane_id = -1;  ///< v12: always undefined, every EFA NIC reaches every other
  GpuDirect gpudirect = GpuDirect::kUnknown;  ///< between these GPUs and these NICs
  std::vector<std::string> reasons = {};      ///< of what is not obvious, one sentence each

  [[nodiscard]] std::size_t leader() const { return rails.front().nic; }
};

struct Plan {
  std::string instance_name = {};           ///< "" if this is not a known kind of machine
  const InstanceType* instance = nullptr;   ///< its row, if the table has one
  std::vector<NicGroup> groups = {};        ///< device 0, 1, ...
  std::vector<std::size_t> left_out = {};   ///< NICs that belong to no device
  std::vector<std::string> decisions = {};  ///< for the log, one line each
};

/// Decides which NCCL devices `nics` make on `machine`. Pure.
///
/// A NIC is found by its PCI address, never by its name. NICs without one, or whose address the
/// tree does not have, are grouped by their networks; so are all where there is neither a GPU nor a
/// known instance type. PCI devices come first, ordered by address, then the others as they were
/// given.
Plan make_plan(const Machine& machine, std::span<const Nic> nics, const Settings& settings);

}  // namespace fabrail::topology
