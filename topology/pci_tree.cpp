// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/pci_tree.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace fabrail::topology {

PciTree::PciTree() { nodes_.push_back({.kind = NodeKind::kMachine}); }

int PciTree::add(int parent, PciNode node) {
  const int index = size();
  node.parent = parent;
  node.depth = at(parent).depth + 1;
  node.children.clear();
  nodes_.push_back(std::move(node));
  at(parent).children.push_back(index);
  return index;
}

int PciTree::find_device(const PciAddress& address) const {
  for (int node = 0; node < size(); ++node) {
    if (at(node).kind == NodeKind::kDevice && at(node).address == address) return node;
  }
  return -1;
}

// By parents and our own depth: hwloc gives every bridge the same depth, and its common ancestor of
// two devices under chains of unequal length walks off the tree.
int PciTree::common_ancestor(int a, int b) const {
  while (a != b) {
    int& deeper = at(a).depth >= at(b).depth ? a : b;
    deeper = at(deeper).parent;
  }
  return a;
}

int PciTree::distance(int a, int b) const {
  return at(a).depth + at(b).depth - 2 * at(common_ancestor(a, b)).depth;
}

Path PciTree::path(int a, int b) const {
  switch (at(common_ancestor(a, b)).kind) {
    case NodeKind::kMachine:
      return Path::kMachine;
    case NodeKind::kLocality:
      return Path::kLocality;
    case NodeKind::kHostBridge:
      return Path::kHostBridge;
    case NodeKind::kBridge:
    case NodeKind::kDevice:
      break;
  }
  return Path::kSwitch;
}

int PciTree::enclosing(int node, NodeKind kind) const {
  while (node >= 0 && at(node).kind != kind) node = at(node).parent;
  return node;
}

int efa_generation(const PciNode& node) {
  if (node.kind != NodeKind::kDevice || node.vendor != kVendorAmazon) return 0;
  return (node.device & 0xfff0) == 0xefa0 ? (node.device & 0xf) + 1 : 0;
}

bool is_gpu(const PciNode& node) {
  // Nitro guests also have a display function of Amazon's own, so the class alone says too much.
  return node.kind == NodeKind::kDevice && node.vendor == kVendorNvidia && node.class_id >> 8 == 3;
}

std::vector<int> gpus_of(const PciTree& tree) {
  std::vector<int> gpus;
  for (int node = 0; node < tree.size(); ++node) {
    if (is_gpu(tree.at(node))) gpus.push_back(node);
  }
  std::ranges::sort(gpus, {}, [&](int node) { return tree.at(node).address; });
  return gpus;
}

std::string usual_sysfs_path(const PciTree& tree, int node) {
  std::string below;
  for (; tree.at(node).kind == NodeKind::kDevice || tree.at(node).kind == NodeKind::kBridge;
       node = tree.at(node).parent) {
    below.insert(0, "/" + to_text(tree.at(node).address));
  }
  char root[48];
  std::snprintf(root, sizeof root, "/sys/devices/pci%04x:%02x", tree.at(node).address.domain,
                tree.at(node).address.bus);
  return root + below;
}

}  // namespace fabrail::topology
