// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/topo/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "topology/sysfs_reader.h"

namespace fabrail::cli::topo {

using topology::NodeKind;
using topology::PciNode;
using topology::PciTree;

namespace {

std::string model_of(const PciNode& gpu, const topology::InstanceType* type) {
  static constexpr std::array kModels = {std::pair{0x1db5, "V100"}, std::pair{0x1eb8, "T4"},
                                         std::pair{0x20b0, "A100"}, std::pair{0x20b2, "A100"},
                                         std::pair{0x2330, "H100"}, std::pair{0x2335, "H200"},
                                         std::pair{0x2901, "B200"}, std::pair{0x27b8, "L4"},
                                         std::pair{0x2237, "A10G"}, std::pair{0x26b9, "L40S"}};
  for (const auto& [device, model] : kModels) {
    if (gpu.device == device) return model;
  }
  if (type && type->gpus > 0) return type->gpu;
  return fmt::format("10de:{:04x}", gpu.device);
}

// EFA NICs, or, where there are none, all that have a verbs driver.
std::vector<topology::Nic> nics_of(const PciTree& tree, bool efa, const std::string& sys) {
  std::vector<topology::Nic> nics;
  for (int i = 0; i < tree.size(); ++i) {
    const PciNode& node = tree.at(i);
    if (node.kind != NodeKind::kDevice || (topology::efa_generation(node) > 0) != efa) continue;
    if (!efa && node.rdma_name.empty()) continue;
    topology::VerbsDetails verbs;
    if (!node.sysfs_path.empty()) verbs = topology::read_verbs(sys, node.rdma_name);
    const bool named = !node.rdma_name.empty();
    nics.push_back({.name = named ? node.rdma_name : "efa-" + to_text(node.address),
                    .network = efa ? "efa" : "verbs",
                    .pci = node.address,
                    .speed_mbps = verbs.rate_mbps,
                    .node_guid = verbs.node_guid});
  }
  return nics;
}

class Stage {
 public:
  explicit Stage(Scene& scene) : scene_(scene), tree_(scene.machine.tree) {}

  void run() {
    for (const int gpu : gpus_of(tree_)) add_gpu(gpu);
    count();
    for (std::size_t i = 0; i < scene_.gpus.size(); ++i) {
      place_of(scene_.gpus[i].node).gpus.push_back(i);
    }
    for (std::size_t i = 0; i < scene_.plan.groups.size(); ++i) {
      place_of(leader(scene_.plan.groups[i])).devices.push_back(i);
    }
    for (auto& [key, place] : places_) scene_.places.push_back(std::move(place));
  }

 private:
  void add_gpu(int node) {
    ShownGpu gpu{.node = node,
                 .index = static_cast<int>(scene_.gpus.size()),
                 .model = model_of(tree_.at(node), scene_.plan.instance)};
    for (std::size_t device = 0; device < scene_.plan.groups.size(); ++device) {
      const topology::NicGroup& group = scene_.plan.groups[device];
      const auto served =
          std::ranges::find(group.gpus, tree_.at(node).address, &topology::GroupGpu::address);
      if (served == group.gpus.end()) continue;
      gpu.device = static_cast<int>(device);
      gpu.path = served->path;
      gpu.gpudirect =
          served->path == topology::Path::kSwitch && group.gpudirect != topology::GpuDirect::kNo;
      break;
    }
    scene_.gpus.push_back(std::move(gpu));
  }

  [[nodiscard]] int leader(const topology::NicGroup& group) const {
    const auto& pci = scene_.nics[group.leader()].pci;
    return pci ? tree_.find_device(*pci) : -1;
  }

  // How many of the shown GPUs and NICs are beneath each node.
  void count() {
    beneath_.assign(static_cast<std::size_t>(tree_.size()), 0);
    const auto add = [&](int node) {
      for (; node >= 0; node = tree_.at(node).parent) ++beneath_[static_cast<std::size_t>(node)];
    };
    for (const ShownGpu& gpu : scene_.gpus) add(gpu.node);
    for (const topology::Nic& nic : scene_.nics) {
      if (nic.pci) add(tree_.find_device(*nic.pci));
    }
  }

  // The nearest bridge or root bus that a GPU or NIC shares with another.
  Place& place_of(int device) {
    int node = device < 0 ? 0 : tree_.at(device).parent;
    while (node > 0 && tree_.at(node).kind == NodeKind::kBridge &&
           beneath_[static_cast<std::size_t>(node)] < 2) {
      node = tree_.at(node).parent;
    }
    const int numa = tree_.at(node).numa;
    Place& place = places_[{numa, tree_.at(node).address, node}];
    place.numa = numa;
    place.name = name_of(node);
    return place;
  }

  [[nodiscard]] std::string name_of(int node) const {
    const PciNode& where = tree_.at(node);
    if (where.kind == NodeKind::kBridge) return "switch " + to_text(where.address);
    if (where.kind != NodeKind::kHostBridge) return "not on PCI";
    const bool hidden =
        scene_.plan.instance && scene_.plan.instance->layout == topology::Layout::kHiddenSwitches;
    return "root bus " + to_text(where.address).substr(0, 7) +
           (hidden ? " (a switch that the guest does not see)" : "");
  }

  Scene& scene_;
  const PciTree& tree_;
  std::vector<int> beneath_;
  std::map<std::tuple<int, topology::PciAddress, int>, Place> places_;
};

}  // namespace

std::string link_text(double gbytes_per_s) {
  return gbytes_per_s > 0 ? fmt::format("{:.1f} GB/s", gbytes_per_s) : "link unknown";
}

// The leader's link stands for all: the rails of a device are of one kind.
std::string links_of(const Scene& scene, const topology::NicGroup& group) {
  const auto& pci = scene.nics[group.leader()].pci;
  const int node = pci ? scene.machine.tree.find_device(*pci) : -1;
  if (node < 0) return "";
  const std::string each = link_text(scene.machine.tree.at(node).link_gbytes_per_s);
  return group.rails.size() > 1 ? fmt::format("{} × {}", group.rails.size(), each) : each;
}

const char* describe(topology::Path path) {
  switch (path) {
    case topology::Path::kSwitch:
      return "same switch";
    case topology::Path::kHostBridge:
      return "same root bus";
    case topology::Path::kLocality:
      return "same NUMA node";
    case topology::Path::kMachine:
      return "other NUMA node";
  }
  return "";
}

Scene make_scene(topology::Machine machine, const topology::Settings& settings,
                 const std::string& sys) {
  Scene scene;
  scene.machine = std::move(machine);
  scene.nics = nics_of(scene.machine.tree, true, sys);
  if (scene.nics.empty()) scene.nics = nics_of(scene.machine.tree, false, sys);
  scene.plan = make_plan(scene.machine, scene.nics, settings);
  scene.xml = make_nccl_xml(scene.machine, scene.nics, scene.plan);
  scene.environment = recommended_environment(scene.plan.instance);
  Stage(scene).run();
  return scene;
}

}  // namespace fabrail::cli::topo
