// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How NICs become NCCL devices: libfabric's NICs are handed to the topology, and its plan becomes
// devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "include/nccl_net_abi.h"
#include "src/base/config.h"
#include "src/fabric/nic.h"
#include "topology/topology.h"

namespace fabrail::plugin {

/// One NCCL device: the NICs behind it and what NCCL is told about it.
struct DevicePlan {
  std::vector<const fabric::Nic*>
      rails;             ///< one entry for each rail; a NIC may stand there several times
  std::string name;      ///< unique in this process
  std::string pci_path;  ///< of the first NIC, empty if it has none
  std::uint64_t guid = 0;
  int port = 1;
  int speed_mbps = 0;    ///< of all rails together
  float latency_us = 0;  ///< 0 for NCCL's default
  int ptr_support = NCCL_NET_PTR_HOST;
  bool force_flush = false;
  std::int16_t rail_id = -1;
  std::int16_t plane_id = -1;
};

/// `nics` as the topology knows them. Reads EFA's numbers of cards and functions below `sys`.
std::vector<topology::Nic> topology_nics(const std::vector<fabric::Nic>& nics,
                                         const std::string& sys);

/// What NCCL devices `nics` make on `machine`: by the GPUs that they are near where PCI tells, else
/// one for each network. Honours FABRAIL_INSTANCE, FABRAIL_MAX_RAILS, and FABRAIL_RAILS where that
/// leaves NICs idle; never more than NCCL and the transport can take.
topology::Plan plan_topology(const topology::Machine& machine,
                             const std::vector<topology::Nic>& nics, const Config& config);

/// The devices of a plan made of `nics`, in its order. FABRAIL_RAILS (`rails`, 0 for the plan's
/// own) may ask for more rails than NICs: they are then used several times over.
std::vector<DevicePlan> plan_devices(const std::vector<fabric::Nic>& nics,
                                     const topology::Plan& plan, std::int64_t rails);

/// For the log: `rdmap79s0, 4 rails (...), 400000 Mbit/s, ...`.
std::string describe(const DevicePlan& device, const topology::NicGroup& group);

}  // namespace fabrail::plugin
