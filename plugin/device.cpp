// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/device.h"

#include <algorithm>
#include <climits>

#include "src/transport/messages.h"
#include "topology/sysfs_reader.h"

namespace fabrail::plugin {

namespace {

// NCCL cannot plan with less.
constexpr std::int64_t kSlowestMbps = 1000;

void drop_devices_beyond_nccls_limit(topology::Plan& plan) {
  if (plan.groups.size() <= NCCL_NET_MAX_DEVICES) return;
  plan.decisions.push_back("NCCL takes " + std::to_string(NCCL_NET_MAX_DEVICES) + " devices of " +
                           std::to_string(plan.groups.size()));
  plan.groups.resize(NCCL_NET_MAX_DEVICES);
}

// Several rails on one NIC share its bandwidth, so that only cutting changes the speed.
void cut_rails(topology::NicGroup& group, std::size_t rails) {
  if (group.rails.size() <= rails) return;
  group.rails.resize(rails);
  group.speed_mbps = 0;
  for (const topology::GroupRail& rail : group.rails) group.speed_mbps += rail.speed_mbps;
}

DevicePlan device_of(const topology::NicGroup& group, const std::vector<fabric::Nic>& nics,
                     std::size_t rails) {
  DevicePlan device;
  for (std::size_t i = 0; i < rails; ++i) {
    device.rails.push_back(&nics[group.rails[i % group.rails.size()].nic]);
  }
  // The kernel's own path where there is one: the plan's may be another machine's.
  const std::string& real_path = nics[group.leader()].pci_path;
  device.name = group.name;
  device.pci_path = real_path.empty() ? group.pci_path : real_path;
  device.guid = group.guid;
  device.port = group.port;
  device.speed_mbps =
      static_cast<int>(std::clamp<std::int64_t>(group.speed_mbps, kSlowestMbps, INT_MAX));
  device.latency_us = group.latency_us;
  device.rail_id = static_cast<std::int16_t>(group.rail_id);
  device.plane_id = static_cast<std::int16_t>(group.plane_id);
  return device;
}

const char* words(topology::Path path) {
  switch (path) {
    case topology::Path::kSwitch:
      return "same switch";
    case topology::Path::kHostBridge:
      return "same root bus";
    case topology::Path::kLocality:
      return "same NUMA node";
    case topology::Path::kMachine:
      break;
  }
  return "other NUMA node";
}

std::string rail_names(const DevicePlan& device) {
  std::string names;
  for (const fabric::Nic* nic : device.rails) names += (names.empty() ? "" : " ") + nic->name;
  return names;
}

}  // namespace

std::vector<topology::Nic> topology_nics(const std::vector<fabric::Nic>& nics,
                                         const std::string& sys) {
  std::vector<topology::Nic> known;
  known.reserve(nics.size());
  for (const fabric::Nic& nic : nics) {
    known.push_back({.name = nic.name,
                     .network = nic.network,
                     .pci = topology::parse_pci_address(nic.pci_address),
                     .speed_mbps = nic.speed_mbps,
                     .node_guid = topology::read_verbs(sys, nic.name).node_guid});
  }
  return known;
}

topology::Plan plan_topology(const topology::Machine& machine,
                             const std::vector<topology::Nic>& nics, const Config& config) {
  const std::int64_t most = transport::kMaxRails;
  const std::int64_t max_rails = config.max_rails > 0 ? std::min(config.max_rails, most) : most;
  topology::Plan plan =
      topology::make_plan(machine, nics, {.instance = config.instance, .max_rails = max_rails});
  drop_devices_beyond_nccls_limit(plan);
  if (config.rails > 0) {
    for (topology::NicGroup& group : plan.groups) {
      cut_rails(group, static_cast<std::size_t>(config.rails));
    }
  }
  return plan;
}

std::vector<DevicePlan> plan_devices(const std::vector<fabric::Nic>& nics,
                                     const topology::Plan& plan, std::int64_t rails) {
  std::vector<DevicePlan> devices;
  for (const topology::NicGroup& group : plan.groups) {
    devices.push_back(
        device_of(group, nics, rails > 0 ? static_cast<std::size_t>(rails) : group.rails.size()));
  }
  return devices;
}

std::string describe(const DevicePlan& device, const topology::NicGroup& group) {
  const std::string rails = std::to_string(device.rails.size());
  std::string text = device.name + ", " + rails + " rails" +
                     (device.rails.size() > 1 ? " (" + rail_names(device) + ")" : "") + ", " +
                     std::to_string(device.speed_mbps) + " Mbit/s";
  for (const topology::GroupGpu& gpu : group.gpus) {
    text += ", GPU " + to_text(gpu.address) + " (" + words(gpu.path) + ")";
  }
  return text;
}

}  // namespace fabrail::plugin
