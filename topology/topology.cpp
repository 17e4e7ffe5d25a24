// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/topology.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "topology/affinity.h"
#include "topology/nic_speed.h"

namespace fabrail::topology {

namespace {

// NCCL's XML reader allows 254 characters; room is left for a suffix.
constexpr std::size_t kLongestName = 240;

std::string count_of(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

class Planner {
 public:
  Planner(const Machine& machine, std::span<const Nic> nics, const Settings& settings)
      : machine_(machine), tree_(machine.tree), nics_(nics), settings_(settings) {}

  Plan run() {
    plan_.decisions = machine_.notes;
    find_instance();
    const std::vector<NicPlace> places = place_nics();
    const Affinity affinity = group_nics(tree_, places, rules());
    for (const Cluster& cluster : affinity.clusters) plan_.groups.push_back(group_of(cluster));
    leave_out(affinity.left_out);
    group_lone_nics();
    make_unique();
    number_rails();
    report_shape();
    report_missing();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] Layout layout() const {
    return plan_.instance ? plan_.instance->layout : Layout::kAsSeen;
  }

  [[nodiscard]] int generation_of(int node) const {
    return node >= 0 ? efa_generation(tree_.at(node)) : 0;
  }

  void find_instance() {
    const DetectedInstance detected = detect_instance(machine_.dmi, settings_.instance);
    plan_.instance_name = detected.name;
    plan_.instance = find_instance_type(detected.name);
    if (plan_.instance) {
      const InstanceType& type = *plan_.instance;
      plan_.decisions.push_back("instance " + detected.name + " (" + detected.reason + "): " +
                                count_of(static_cast<std::size_t>(type.nics), "NIC") + " of " +
                                std::to_string(type.nic_mbps / 1000) + " Gb/s, GPUDirect RDMA " +
                                (type.gpudirect == GpuDirect::kYes ? "possible" : "not possible"));
      if (type.note[0] != '\0') plan_.decisions.push_back(detected.name + ": " + type.note);
    } else if (!detected.name.empty()) {
      plan_.decisions.push_back("instance " + detected.name + " (" + detected.reason +
                                ") is not in the table; going by what PCI shows");
    }
  }

  [[nodiscard]] int node_of(std::size_t nic) const {
    return nics_[nic].pci ? tree_.find_device(*nics_[nic].pci) : -1;
  }

  // Without GPUs, and without a type that tells how many there should be, places mean nothing.
  [[nodiscard]] bool is_place_known_to_matter() const {
    return plan_.instance != nullptr || !gpus_of(tree_).empty();
  }

  // Finds the NICs in the tree; those that are not there go to lone_nics_.
  std::vector<NicPlace> place_nics() {
    std::vector<NicPlace> places;
    const bool by_place = is_place_known_to_matter();
    for (std::size_t i = 0; i < nics_.size(); ++i) {
      const int node = node_of(i);
      if (by_place && node >= 0) {
        places.push_back({i, node, network_of(i), nics_[i].node_guid});
      } else {
        lone_nics_.push_back(i);
      }
    }
    const auto is_efa = [&](const NicPlace& place) { return generation_of(place.node) > 0; };
    if (std::ranges::any_of(places, is_efa)) {
      std::erase_if(places, [&](const NicPlace& place) {
        if (is_efa(place)) return false;
        plan_.left_out.push_back(place.nic);
        plan_.decisions.push_back("leaving out " + nics_[place.nic].name +
                                  ": not an EFA device, as the others are");
        return true;
      });
    }
    return places;
  }

  [[nodiscard]] AffinityRules rules() const {
    const InstanceType* type = plan_.instance;
    const bool shared = type && type->gpus > 0 && type->nics > type->gpus;
    return {.max_rails = static_cast<std::size_t>(std::max<std::int64_t>(settings_.max_rails, 0)),
            .orphan_rails = shared ? static_cast<std::size_t>(type->nics / type->gpus) : 1,
            .leave_orphans_out = layout() == Layout::kUseOnlyNearNics};
  }

  NicGroup group_of(const Cluster& cluster) const {
    const int leader = cluster.nics.front().node;
    NicGroup group;
    for (const NicPlace& place : cluster.nics) add_rail(group, place.nic);
    for (const int gpu : cluster.gpus) {
      group.gpus.push_back({tree_.at(gpu).address, path_of(gpu, leader)});
    }
    take_place(group, leader);
    judge_gpudirect(group);
    return group;
  }

  void take_place(NicGroup& group, int leader) const {
    const PciNode& node = tree_.at(leader);
    group.numa = node.numa;
    group.pci_path = node.sysfs_path.empty() ? usual_sysfs_path(tree_, leader) : node.sysfs_path;
    group.latency_us = latency_of(leader);
  }

  // The place of the first NIC of the same network.
  [[nodiscard]] int network_of(std::size_t nic) const {
    const auto first = std::ranges::find(nics_, nics_[nic].network, &Nic::network);
    return static_cast<int>(first - nics_.begin());
  }

  void group_lone_nics() {
    std::map<std::string_view, std::size_t> group_of_network;
    for (const std::size_t nic : lone_nics_) {
      const std::string& network = nics_[nic].network;
      const auto known = group_of_network.find(network);
      if (!network.empty() && known != group_of_network.end() &&
          has_room(plan_.groups[known->second])) {
        add_rail(plan_.groups[known->second], nic);
        continue;
      }
      group_of_network[network] = plan_.groups.size();
      plan_.groups.push_back(lone_group(nic));
    }
  }

  [[nodiscard]] bool has_room(const NicGroup& group) const {
    return settings_.max_rails <= 0 ||
           group.rails.size() < static_cast<std::size_t>(settings_.max_rails);
  }

  NicGroup lone_group(std::size_t nic) const {
    NicGroup group;
    add_rail(group, nic);
    const auto& pci = nics_[nic].pci;
    if (const int node = node_of(nic); node >= 0) {
      take_place(group, node);
      group.reasons.emplace_back("one device for each network: PCI shows no GPU");
    } else {
      group.reasons.push_back(pci ? "not placed: PCI shows no device " + to_text(*pci)
                                  : "not placed: no PCI device");
    }
    return group;
  }

  void add_rail(NicGroup& group, std::size_t nic) const {
    NicSpeed speed = nic_speed(nics_[nic].speed_mbps, generation_of(node_of(nic)), plan_.instance);
    if (group.rails.empty()) group.name = nics_[nic].name.substr(0, kLongestName);
    group.rails.push_back({nic, speed.mbps});
    group.speed_mbps += speed.mbps;
    const bool said = std::ranges::count(group.reasons, speed.reason) > 0;
    if (!speed.reason.empty() && !said) group.reasons.push_back(std::move(speed.reason));
  }

  [[nodiscard]] Path path_of(int gpu, int nic) const {
    const Path path = tree_.path(gpu, nic);
    const bool hidden = layout() == Layout::kHiddenSwitches && path == Path::kHostBridge;
    return hidden ? Path::kSwitch : path;
  }

  [[nodiscard]] float latency_of(int node) const {
    if (plan_.instance) return static_cast<float>(plan_.instance->latency_us);
    const int generation = generation_of(node);
    if (generation == 0) return 0;
    return generation >= 3 ? 35 : 75;
  }

  // NCCL lets a NIC reach a GPU's memory only through PCI switches (its default
  // NCCL_NET_GDR_LEVEL).
  void judge_gpudirect(NicGroup& group) const {
    const bool near = std::ranges::any_of(
        group.gpus, [](const GroupGpu& gpu) { return gpu.path == Path::kSwitch; });
    if (plan_.instance && plan_.instance->gpudirect == GpuDirect::kNo) {
      group.gpudirect = GpuDirect::kNo;
      group.reasons.push_back("no GPUDirect RDMA on " + plan_.instance_name);
    } else if (group.gpus.empty()) {
      group.reasons.emplace_back("no GPU near it");
    } else if (!near) {
      group.gpudirect = GpuDirect::kNo;
      group.reasons.emplace_back("no GPUDirect RDMA: no GPU under the same PCI switch");
    } else {
      group.gpudirect = plan_.instance ? plan_.instance->gpudirect : GpuDirect::kUnknown;
    }
  }

  void leave_out(const std::vector<NicPlace>& places) {
    for (const NicPlace& place : places) {
      plan_.left_out.push_back(place.nic);
      plan_.decisions.push_back("leaving out " + nics_[place.nic].name +
                                ": no GPU under its PCI switch, and " + plan_.instance_name +
                                " gains nothing by NICs farther away");
    }
  }

  void make_unique() {
    std::set<std::string> names;
    std::set<std::uint64_t> guids;
    for (NicGroup& group : plan_.groups) {
      const std::string name = group.name;
      for (int i = 2; !names.insert(group.name).second; ++i) {
        group.name = name + "#" + std::to_string(i);
      }
      group.guid = guid_of(group.leader());
      while (!guids.insert(group.guid).second) ++group.guid;
    }
  }

  [[nodiscard]] std::uint64_t guid_of(std::size_t nic) const {
    if (nics_[nic].node_guid != 0) return nics_[nic].node_guid;
    const std::uint64_t host = machine_.host_id & 0xffffffff00000000;
    if (!nics_[nic].pci) return host | 0xffff0000 | (nic & 0xffff);
    const PciAddress& pci = *nics_[nic].pci;
    return host | static_cast<std::uint64_t>(pci.domain & 0xffff) << 16 |
           static_cast<std::uint64_t>(pci.bus) << 8 | static_cast<std::uint64_t>(pci.device) << 3 |
           pci.function;
  }

  // A device has the same number everywhere only if all nodes of the type have all their NICs.
  void number_rails() {
    if (!plan_.instance || !lone_nics_.empty() || plan_.groups.empty()) return;
    std::size_t rails = 0;
    for (const NicGroup& group : plan_.groups) rails += group.rails.size();
    if (rails != static_cast<std::size_t>(plan_.instance->nics) || !is_even()) return;
    for (std::size_t i = 0; i < plan_.groups.size(); ++i) {
      plan_.groups[i].rail_id = static_cast<int>(i);
    }
  }

  [[nodiscard]] bool is_even() const {
    return std::ranges::all_of(plan_.groups, [&](const NicGroup& group) {
      return group.rails.size() == plan_.groups.front().rails.size();
    });
  }

  void report_shape() {
    if (plan_.groups.empty()) return;
    std::string rails;
    for (const NicGroup& group : plan_.groups) {
      rails += (rails.empty() ? "" : ",") + std::to_string(group.rails.size());
    }
    const std::string devices = count_of(plan_.groups.size(), "device") + " of ";
    plan_.decisions.push_back(
        is_even() ? devices + count_of(plan_.groups.front().rails.size(), "rail")
                  : devices + rails +
                        " rails: the NICs are spread unevenly over PCI; each device "
                        "tells NCCL its own speed");
    std::set<std::string_view> said;
    for (const NicGroup& group : plan_.groups) {
      for (const std::string& reason : group.reasons) {
        if (said.insert(reason).second) plan_.decisions.push_back(group.name + ": " + reason);
      }
    }
  }

  // NICs that PCI shows and libfabric does not, or that the type has and PCI does not.
  void report_missing() {
    std::size_t on_pci = 0;
    std::string hidden;
    for (int i = 0; i < tree_.size(); ++i) {
      if (efa_generation(tree_.at(i)) == 0) continue;
      ++on_pci;
      const bool offered = std::ranges::any_of(
          nics_, [&](const Nic& nic) { return nic.pci == tree_.at(i).address; });
      if (!offered) hidden += " " + to_text(tree_.at(i).address);
    }
    if (!hidden.empty()) {
      plan_.decisions.push_back("EFA devices that PCI shows and libfabric does not offer:" +
                                hidden);
    }
    if (plan_.instance && on_pci < static_cast<std::size_t>(plan_.instance->nics)) {
      plan_.decisions.push_back(plan_.instance_name + " can have " +
                                count_of(static_cast<std::size_t>(plan_.instance->nics), "NIC") +
                                "; PCI shows " + std::to_string(on_pci));
    }
  }

  const Machine& machine_;
  const PciTree& tree_;
  std::span<const Nic> nics_;
  const Settings& settings_;
  std::vector<std::size_t> lone_nics_;
  Plan plan_;
};

}  // namespace

Plan make_plan(const Machine& machine, std::span<const Nic> nics, const Settings& settings) {
  return Planner(machine, nics, settings).run();
}

}  // namespace fabrail::topology
