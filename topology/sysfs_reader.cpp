// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/sysfs_reader.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

namespace fabrail::topology {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// The kernel writes identifiers as 0x1d0f and NUMA nodes in decimal.
long number(const fs::path& file, long otherwise) {
  const std::string line = first_line(file);
  char* end = nullptr;
  const long value = std::strtol(line.c_str(), &end, 0);
  return end == line.c_str() ? otherwise : value;
}

// "16.0 GT/s PCIe" and "8" to GB/s, less the line code: what hwloc reports, too.
double link_gbytes_per_s(const fs::path& device) {
  const double gigatransfers =
      std::strtod(first_line(device / "current_link_speed").c_str(), nullptr);
  const double lanes = static_cast<double>(number(device / "current_link_width", 0));
  const double code = gigatransfers < 8 ? 8.0 / 10.0 : 128.0 / 130.0;
  return gigatransfers > 0 && lanes > 0 && lanes <= 32 ? gigatransfers * lanes * code / 8 : 0;
}

std::string rdma_name(const fs::path& device) {
  std::error_code error;
  fs::directory_iterator names(device / "infiniband", error);
  return error || names == fs::directory_iterator() ? std::string{}
                                                    : names->path().filename().string();
}

PciNode read_node(const fs::path& path, const PciAddress& address) {
  const long class_code = number(path / "class", 0);
  constexpr long kBridgeClass = 0x0604;
  const bool bridge = class_code >> 8 == kBridgeClass;
  return {.kind = bridge ? NodeKind::kBridge : NodeKind::kDevice,
          .numa = static_cast<int>(number(path / "numa_node", -1)),
          .address = address,
          .class_id = static_cast<std::uint16_t>(class_code >> 8),
          .vendor = static_cast<std::uint16_t>(number(path / "vendor", 0)),
          .device = static_cast<std::uint16_t>(number(path / "device", 0)),
          .link_gbytes_per_s = link_gbytes_per_s(path),
          .rdma_name = bridge ? std::string{} : rdma_name(path),
          .sysfs_path = path.string()};
}

// The real paths of all PCI devices; a path sorts before those of the devices beneath it.
std::vector<fs::path> device_paths(const fs::path& sys) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sys / "bus/pci/devices", error)) {
    std::error_code broken_link;
    fs::path path = fs::canonical(entry.path(), broken_link);
    if (!broken_link) paths.push_back(std::move(path));
  }
  std::ranges::sort(paths);
  return paths;
}

class Builder {
 public:
  void add(const fs::path& path) {
    const auto address = parse_pci_address(path.filename().string());
    if (!address) return;
    PciNode node = read_node(path, *address);
    const int parent = parent_of(path, node);
    by_path_[path.string()] = tree_.add(parent, std::move(node));
  }

  PciTree take() { return std::move(tree_); }

 private:
  int parent_of(const fs::path& path, const PciNode& node) {
    const std::string above = path.parent_path().string();
    if (const auto known = by_path_.find(above); known != by_path_.end()) return known->second;
    const int root_bus = tree_.add(
        locality(node.numa), {.kind = NodeKind::kHostBridge,
                              .numa = node.numa,
                              .address = {.domain = node.address.domain, .bus = node.address.bus}});
    return by_path_[above] = root_bus;
  }

  int locality(int numa) {
    if (numa < 0) return 0;
    const auto known = by_numa_.find(numa);
    if (known != by_numa_.end()) return known->second;
    return by_numa_[numa] = tree_.add(0, {.kind = NodeKind::kLocality, .numa = numa});
  }

  PciTree tree_;
  std::map<std::string, int> by_path_;
  std::map<int, int> by_numa_;
};

}  // namespace

PciTree read_sysfs(const std::string& sys) {
  Builder builder;
  for (const fs::path& path : device_paths(sys)) builder.add(path);
  return builder.take();
}

VerbsDetails read_verbs(const std::string& sys, const std::string& name) {
  const fs::path device = fs::path(sys) / "class/infiniband" / name;
  // "0abc:12ff:fe34:5678" and "100 Gb/sec (4X EDR)".
  std::string guid = first_line(device / "node_guid");
  std::erase(guid, ':');
  // Whole numbers are enough. Rounded without lround, which would need libm beside libc.
  const std::string rate = first_line(device / "ports/1/rate");
  const double gbps = std::strtod(rate.c_str(), nullptr);
  return {
      .node_guid = std::strtoull(guid.c_str(), nullptr, 16),
      .rate_mbps = gbps > 0 ? static_cast<std::int64_t>(std::min(gbps, 1e6) * 2000 + 1) / 2 : 0};
}

void add_sysfs_details(PciTree& tree, const std::string& sys) {
  for (int i = 0; i < tree.size(); ++i) {
    PciNode& node = tree.at(i);
    if (node.kind != NodeKind::kDevice && node.kind != NodeKind::kBridge) continue;
    std::error_code error;
    const fs::path path =
        fs::canonical(fs::path(sys) / "bus/pci/devices" / to_text(node.address), error);
    if (error) continue;
    node.sysfs_path = path.string();
    if (node.link_gbytes_per_s <= 0) node.link_gbytes_per_s = link_gbytes_per_s(path);
    node.numa = static_cast<int>(number(path / "numa_node", node.numa));
    const int root_bus = tree.enclosing(i, NodeKind::kHostBridge);
    if (root_bus >= 0) tree.at(root_bus).numa = node.numa;
  }
}

}  // namespace fabrail::topology
