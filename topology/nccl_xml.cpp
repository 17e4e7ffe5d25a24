// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/nccl_xml.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace fabrail::topology {

namespace {

// Of the versions from 2.18 on, the least: 32 children until 2.20, 256 elements from 2.21. NCCL
// adds elements of its own to ours, so half of them is enough for us.
constexpr std::size_t kMaxChildren = 32;
constexpr std::size_t kMaxElements = 128;

struct Grade {
  const char* speed;
  double gbytes_per_s;  // NCCL's, for 16 lanes
};
constexpr std::array kGrades = {Grade{"8.0 GT/s PCIe", 12}, Grade{"16.0 GT/s PCIe", 24},
                                Grade{"32.0 GT/s PCIe", 48}, Grade{"64.0 GT/s PCIe", 96}};
constexpr double kUnknownLink = kGrades[0].gbytes_per_s;
// Slower than any GPU's link at work: it idles, or a virtual function does not tell.
constexpr double kSlowestGpuLink = 12.5;
constexpr double kUsualGpuLink = kGrades[2].gbytes_per_s;

double needed_gbytes_per_s(const NicGroup& group) {
  return static_cast<double>(group.speed_mbps) / 8000;
}

struct Element {
  std::string tag;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Element> children;
};

Element& child(Element& parent, const std::string& tag, const char* key, const std::string& value) {
  for (Element& known : parent.children) {
    if (known.tag == tag && known.attributes.front().second == value) return known;
  }
  parent.children.push_back({tag, {{key, value}}, {}});
  return parent.children.back();
}

// Addresses and numbers only: nothing in the file needs escapes, which NCCL does not know.
void write(const Element& element, int depth, std::string& text) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  text += indent + "<" + element.tag;
  for (const auto& [key, value] : element.attributes) {
    text.append(" ").append(key).append("=\"").append(value).append("\"");
  }
  if (element.children.empty()) {
    text += "/>\n";
    return;
  }
  text += ">\n";
  for (const Element& inner : element.children) write(inner, depth + 1, text);
  text += indent + "</" + element.tag + ">\n";
}

std::size_t count(const Element& element) {
  std::size_t elements = 1;
  for (const Element& inner : element.children) elements += count(inner);
  return elements;
}

std::size_t widest(const Element& element) {
  std::size_t children = element.children.size();
  for (const Element& inner : element.children) children = std::max(children, widest(inner));
  return children;
}

class Writer {
 public:
  Writer(const Machine& machine, std::span<const Nic> nics, const Plan& plan)
      : machine_(machine), tree_(machine.tree), nics_(nics), plan_(plan) {}

  NcclXml run() {
    const std::string reason = why();
    if (reason.empty()) return {"", "NCCL's own detection plans right here"};
    Element system{"system", {{"version", "1"}}, {}};
    if (layout() == Layout::kHiddenSockets) {
      add_sockets(system);
    } else {
      for (const NicGroup& group : plan_.groups) add(system, group);
      add_other_cpus(system);
    }
    if (count(system) > kMaxElements || widest(system) > kMaxChildren) {
      return {"", "too many devices for NCCL's topology reader; left to its own detection"};
    }
    std::string text;
    write(system, 0, text);
    return {text, reason};
  }

 private:
  [[nodiscard]] Layout layout() const {
    return plan_.instance ? plan_.instance->layout : Layout::kAsSeen;
  }

  [[nodiscard]] int leader_node(const NicGroup& group) const {
    const auto& pci = nics_[group.leader()].pci;
    return pci ? tree_.find_device(*pci) : -1;
  }

  [[nodiscard]] std::string why() const {
    const bool any = std::ranges::any_of(
        plan_.groups, [&](const NicGroup& group) { return leader_node(group) >= 0; });
    if (!any) return {};
    if (layout() == Layout::kHiddenSwitches) {
      return "the guest does not see the PCI switches that its NICs and GPUs share";
    }
    if (layout() == Layout::kHiddenSockets) {
      return "the guest does not see which socket its GPUs are at";
    }
    for (const NicGroup& group : plan_.groups) {
      const int leader = leader_node(group);
      if (leader >= 0 && group.rails.size() > 1 && grade_for(group, leader) != nullptr) {
        return "devices of several rails carry more than the link of one NIC";
      }
    }
    return {};
  }

  // The link that the device should have in NCCL's eyes; null if it has that already.
  [[nodiscard]] const Grade* grade_for(const NicGroup& group, int leader) const {
    const double has = nccl_link_gbytes_per_s(tree_.at(leader).link_gbytes_per_s);
    const double needs = needed_gbytes_per_s(group) * kLinkTolerance;
    if (has >= needs) return nullptr;
    // More than the GPUs can take would make NCCL count on what is not there. The half bridges the
    // difference between NCCL's round numbers and exact rates.
    const double most = nccl_gpu_link_gbytes_per_s(tree_, group) + 0.5;
    const Grade* best = nullptr;
    for (const Grade& grade : kGrades) {
      if (grade.gbytes_per_s > most) break;
      best = &grade;
      if (grade.gbytes_per_s >= needs) break;
    }
    return best != nullptr && best->gbytes_per_s > has ? best : nullptr;
  }

  Element& cpu(Element& system, int numa) const {
    Element& found = child(system, "cpu", "numaid", std::to_string(numa));
    if (found.attributes.size() == 1) {
      // NCCL 2.21 to 2.26 take CPUs with different hashes, or with and without, for different
      // hosts.
      char hash[32];
      std::snprintf(hash, sizeof hash, "0x%llx", static_cast<unsigned long long>(machine_.host_id));
      found.attributes.emplace_back("host_hash", hash);
    }
    return found;
  }

  static Element& pci(Element& parent, const std::string& address, const char* class_code) {
    Element& found = child(parent, "pci", "busid", address);
    if (found.attributes.size() == 1) found.attributes.emplace_back("class", class_code);
    return found;
  }

  // From a device up, NCCL takes every second bridge for a switch: a switch's ports are bridges on
  // both sides of it.
  Element& parent_of(Element& system, int node) const {
    std::vector<int> switches;
    for (int above = node;;) {
      const int port = tree_.at(above).parent;
      above = tree_.at(port).kind == NodeKind::kBridge ? tree_.at(port).parent : -1;
      if (above < 0 || tree_.at(above).kind != NodeKind::kBridge) break;
      switches.push_back(above);
    }
    const int root_bus = tree_.enclosing(node, NodeKind::kHostBridge);
    Element* parent = &cpu(system, tree_.at(root_bus >= 0 ? root_bus : node).numa);
    if (layout() == Layout::kHiddenSwitches && switches.empty() && root_bus >= 0) {
      return hidden_switch(*parent, root_bus);
    }
    for (auto bridge = switches.rbegin(); bridge != switches.rend(); ++bridge) {
      parent = &pci(*parent, to_text(tree_.at(*bridge).address), "0x060400");
    }
    return *parent;
  }

  // A bridge at an address that no device has, over the NICs and GPUs of a root bus.
  Element& hidden_switch(Element& parent, int root_bus) const {
    const PciAddress address = {0xffff, tree_.at(root_bus).address.bus, 0x1f, 0};
    Element& bridge = pci(parent, to_text(address), "0x060400");
    if (bridge.attributes.size() > 2) return bridge;
    bridge.attributes.emplace_back("link_speed", kGrades[1].speed);
    bridge.attributes.emplace_back("link_width", "16");
    for (const int device : tree_.at(root_bus).children) {
      if (is_gpu(tree_.at(device))) pci(bridge, to_text(tree_.at(device).address), "0x030200");
    }
    return bridge;
  }

  void add_leader(Element& parent, const NicGroup& group, int leader) const {
    Element& nic = pci(parent, to_text(tree_.at(leader).address), "0x020000");
    if (const Grade* grade = grade_for(group, leader)) {
      nic.attributes.emplace_back("link_speed", grade->speed);
      nic.attributes.emplace_back("link_width", "16");
    }
  }

  // The other rails stay out: NCCL knows the device by its leader.
  void add(Element& system, const NicGroup& group) const {
    const int leader = leader_node(group);
    if (leader >= 0) add_leader(parent_of(system, leader), group, leader);
  }

  // CPUs that have GPUs and no leader: NCCL would add them with a hash of its own. It drops those
  // that it does not use.
  void add_other_cpus(Element& system) const {
    for (const int gpu : gpus_of(tree_)) {
      const int root_bus = tree_.enclosing(gpu, NodeKind::kHostBridge);
      cpu(system, tree_.at(root_bus >= 0 ? root_bus : gpu).numa);
    }
  }

  // Half of the GPUs to each socket, and the NICs to the first.
  void add_sockets(Element& system) const {
    const std::vector<int> gpus = gpus_of(tree_);
    for (const NicGroup& group : plan_.groups) {
      const int leader = leader_node(group);
      if (leader >= 0) add_leader(cpu(system, 0), group, leader);
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      Element& socket = cpu(system, i < (gpus.size() + 1) / 2 ? 0 : 1);
      pci(socket, to_text(tree_.at(gpus[i]).address), "0x030200");
    }
  }

  const Machine& machine_;
  const PciTree& tree_;
  std::span<const Nic> nics_;
  const Plan& plan_;
};

}  // namespace

double nccl_link_gbytes_per_s(double link_gbytes_per_s) {
  // 16 lanes at 8 GT/s carry 8 * 16 * 128 / 130 / 8 GB/s and count as 12.
  constexpr double kScale = 12 / (8.0 * 16 * 128 / 130 / 8);
  return link_gbytes_per_s > 0 ? link_gbytes_per_s * kScale : kUnknownLink;
}

double nccl_gpu_link_gbytes_per_s(const PciTree& tree, const NicGroup& group) {
  double widest = 0;
  for (const GroupGpu& gpu : group.gpus) {
    const int node = tree.find_device(gpu.address);
    if (node < 0 || gpu.path != Path::kSwitch) continue;
    const double link = nccl_link_gbytes_per_s(tree.at(node).link_gbytes_per_s);
    if (link > kSlowestGpuLink) widest = std::max(widest, link);
  }
  return widest > 0 ? widest : kUsualGpuLink;
}

NcclXml make_nccl_xml(const Machine& machine, std::span<const Nic> nics, const Plan& plan) {
  return Writer(machine, nics, plan).run();
}

}  // namespace fabrail::topology
