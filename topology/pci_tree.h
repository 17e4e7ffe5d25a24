// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A machine's PCI devices and what lies between them, as a tree of plain values: what hwloc, sysfs
// and XML files become before anything is decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/pci_address.h"

namespace fabrail::topology {

enum class NodeKind : std::uint8_t {
  kMachine,     ///< the root
  kLocality,    ///< a package, group or NUMA node: a part of the machine with its own memory
  kHostBridge,  ///< a PCI root bus
  kBridge,      ///< a PCI-PCI bridge: a root port, or a port of a switch
  kDevice,
};

inline constexpr std::uint16_t kVendorAmazon = 0x1d0f;
inline constexpr std::uint16_t kVendorNvidia = 0x10de;

struct PciNode {
  NodeKind kind = NodeKind::kDevice;
  int numa = -1;  ///< the NUMA node's number in the operating system, -1 if there is not one
  PciAddress address = {};     ///< of a host bridge only domain and bus
  std::uint16_t class_id = 0;  ///< base class and subclass: 0x0200 is Ethernet
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  double link_gbytes_per_s = 0;  ///< of the link to the parent as it runs now; 0 if unknown
  std::string rdma_name = {};    ///< of a device with a verbs driver: rdmap79s0
  std::string sysfs_path = {};   ///< resolved; empty unless this is the machine that we run on

  // Set by PciTree.
  int parent = -1;
  int depth = 0;
  std::vector<int> children = {};
};

/// How two devices reach each other, nearest first.
enum class Path : std::uint8_t {
  kSwitch,      ///< through PCI switches only (NCCL: PIX, PXB)
  kHostBridge,  ///< through one root bus (NCCL: PHB)
  kLocality,    ///< through several root buses of one NUMA node (NCCL: PHB)
  kMachine,     ///< through the link between sockets (NCCL: SYS)
};

/// A tree of PciNodes named by their index; 0 is the machine, and a parent comes before its
/// children.
class PciTree {
 public:
  PciTree();

  /// Adds a node under `parent`, which must exist, and returns its index.
  int add(int parent, PciNode node);

  [[nodiscard]] const PciNode& at(int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] PciNode& at(int node) { return nodes_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int size() const { return static_cast<int>(nodes_.size()); }

  /// The device with this address, or -1. Bridges are not devices.
  [[nodiscard]] int find_device(const PciAddress& address) const;
  /// The nearest node above both (or one of them, if it is above the other).
  [[nodiscard]] int common_ancestor(int a, int b) const;
  /// Links between two nodes along the tree.
  [[nodiscard]] int distance(int a, int b) const;
  [[nodiscard]] Path path(int a, int b) const;
  /// The nearest node at or above `node` of this kind, or -1.
  [[nodiscard]] int enclosing(int node, NodeKind kind) const;

 private:
  std::vector<PciNode> nodes_;
};

/// The EFA generation of a NIC: 1 for efa0 and so on; 0 if it is not an EFA device.
int efa_generation(const PciNode& node);
bool is_gpu(const PciNode& node);
/// All GPUs, in the order of their addresses.
std::vector<int> gpus_of(const PciTree& tree);

/// The path under /sys at which the kernel shows a device of an ordinary PCI host bridge.
std::string usual_sysfs_path(const PciTree& tree, int node);

}  // namespace fabrail::topology
