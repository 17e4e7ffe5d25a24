// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/hwloc_reader.h"

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "topology/hwloc_library.h"

namespace fabrail::topology {

namespace {

// Only what the tree needs: the caches and cores of a large machine are most of the work. PUs and
// NUMA nodes cannot be left out.
bool filter(const HwlocLibrary& hwloc, hwloc_topology* topology) {
  const auto keep = [&](hwloc_obj_type_t type, hwloc_type_filter_e what) {
    return hwloc.topology_set_type_filter(topology, type, what) == 0;
  };
  return hwloc.topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
         keep(HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL) &&
         keep(HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) &&
         keep(HWLOC_OBJ_BRIDGE, HWLOC_TYPE_FILTER_KEEP_ALL) &&
         keep(HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL) &&
         keep(HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
}

// hwloc's GPU components would start CUDA, NVML or OpenCL inside the user's process.
void leave_gpu_libraries_alone(const HwlocLibrary& hwloc, hwloc_topology* topology) {
  if (hwloc.topology_set_components == nullptr) return;
  for (const char* component : {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"}) {
    hwloc.topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  }
}

class Converter {
 public:
  explicit Converter(const HwlocLibrary& hwloc) : hwloc_(hwloc) {}

  PciTree convert(hwloc_obj* root) {
    tree_.at(0).numa = numa_of(root);
    push_children(root, 0);
    // A list of our own instead of recursion: the depth of an XML file is not ours to trust.
    while (!pending_.empty()) {
      const auto [object, parent] = pending_.back();
      pending_.pop_back();
      visit(object, parent);
    }
    return std::move(tree_);
  }

 private:
  int numa_of(const hwloc_obj* object) const {
    if (object->nodeset == nullptr || hwloc_.bitmap_weight(object->nodeset) != 1) return -1;
    return hwloc_.bitmap_first(object->nodeset);
  }

  void push_children(hwloc_obj* object, int parent) {
    std::vector<hwloc_obj*> children;
    for (hwloc_obj* child = object->first_child; child; child = child->next_sibling) {
      children.push_back(child);
    }
    for (hwloc_obj* child = object->io_first_child; child; child = child->next_sibling) {
      children.push_back(child);
    }
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      pending_.emplace_back(*child, parent);
    }
  }

  void visit(hwloc_obj* object, int parent) {
    switch (object->type) {
      case HWLOC_OBJ_PACKAGE:
      case HWLOC_OBJ_GROUP:
        return push_children(
            object, tree_.add(parent, {.kind = NodeKind::kLocality, .numa = numa_of(object)}));
      case HWLOC_OBJ_BRIDGE:
        return push_children(object, tree_.add(parent, bridge(object, parent)));
      case HWLOC_OBJ_PCI_DEVICE:
        return push_children(object, tree_.add(parent, device(object, parent)));
      case HWLOC_OBJ_OS_DEVICE:
        return name(object, parent);
      default:
        return push_children(object, parent);
    }
  }

  PciNode pci(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& attributes, NodeKind kind,
              int parent) const {
    return {.kind = kind,
            .numa = tree_.at(parent).numa,
            .address = {attributes.domain, attributes.bus, attributes.dev, attributes.func},
            .class_id = attributes.class_id,
            .vendor = attributes.vendor_id,
            .device = attributes.device_id,
            .link_gbytes_per_s = static_cast<double>(attributes.linkspeed)};
  }

  PciNode device(const hwloc_obj* object, int parent) const {
    return pci(object->attr->pcidev, NodeKind::kDevice, parent);
  }

  PciNode bridge(const hwloc_obj* object, int parent) const {
    const hwloc_obj_attr_u::hwloc_bridge_attr_s& attributes = object->attr->bridge;
    if (attributes.upstream_type == HWLOC_OBJ_BRIDGE_PCI) {
      return pci(attributes.upstream.pci, NodeKind::kBridge, parent);
    }
    return {.kind = NodeKind::kHostBridge,
            .numa = tree_.at(parent).numa,
            .address = {attributes.downstream.pci.domain, attributes.downstream.pci.secondary_bus}};
  }

  void name(const hwloc_obj* object, int parent) {
    if (object->name == nullptr || object->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS) return;
    if (tree_.at(parent).kind == NodeKind::kDevice) tree_.at(parent).rdma_name = object->name;
  }

  const HwlocLibrary& hwloc_;
  PciTree tree_;
  std::vector<std::pair<hwloc_obj*, int>> pending_;
};

std::string info_of(const hwloc_obj* object, const char* name) {
  for (unsigned i = 0; i < object->infos_count; ++i) {
    const hwloc_info_s& info = object->infos[i];
    if (info.name && info.value && std::strcmp(info.name, name) == 0) return info.value;
  }
  return {};
}

// Loads a topology whose source is set, and converts it.
Result<HwlocMachine> load(const HwlocLibrary& hwloc, hwloc_topology* topology) {
  if (!filter(hwloc, topology)) {
    return make_error(Code::kUnsupported, errno, "hwloc does not keep PCI devices");
  }
  if (hwloc.topology_load(topology) != 0) {
    return make_error(Code::kInvalidArgument, errno, "hwloc_topology_load failed");
  }
  hwloc_obj* root = hwloc.get_obj_by_depth(topology, 0, 0);
  if (root == nullptr) return make_error(Code::kSystem, 0, "hwloc's topology has no root");
  return HwlocMachine{Converter(hwloc).convert(root), info_of(root, "DMIProductName"),
                      hwloc.topology_is_thissystem(topology) != 0};
}

// `set` gives the XML to a new topology and returns hwloc's code.
template <typename Set>
Result<HwlocMachine> read_xml(const std::string& library, const char* what, Set&& set) {
  FR_TRY_ASSIGN(const HwlocLibrary hwloc, HwlocLibrary::open(library));
  FR_TRY_ASSIGN(const HwlocTopology topology, hwloc.create());
  if (set(hwloc, topology.get()) != 0) {
    return make_error(Code::kInvalidArgument, errno, "%s is not a topology that hwloc accepts (%s)",
                      what, std::strerror(errno));
  }
  FR_TRY_ASSIGN(HwlocMachine machine, load(hwloc, topology.get()));
  if (machine.is_this_machine) {
    return make_error(Code::kInvalidArgument, 0,
                      "hwloc read this machine instead of %s (or HWLOC_THISSYSTEM is set)", what);
  }
  return machine;
}

}  // namespace

Result<HwlocMachine> read_with_hwloc(const std::string& library) {
  FR_TRY_ASSIGN(const HwlocLibrary hwloc, HwlocLibrary::open(library));
  FR_TRY_ASSIGN(const HwlocTopology topology, hwloc.create());
  leave_gpu_libraries_alone(hwloc, topology.get());
  return load(hwloc, topology.get());
}

Result<HwlocMachine> read_hwloc_xml_file(const std::string& library, const std::string& path) {
  return read_xml(library, path.c_str(), [&](const HwlocLibrary& hwloc, hwloc_topology* topology) {
    return hwloc.topology_set_xml(topology, path.c_str());
  });
}

Result<HwlocMachine> read_hwloc_xml(const std::string& library, std::string_view xml) {
  return read_xml(library, "the text", [&](const HwlocLibrary& hwloc, hwloc_topology* topology) {
    // hwloc wants the length with a terminating NUL, which it checks.
    const std::string text(xml);
    return hwloc.topology_set_xmlbuffer(topology, text.c_str(), static_cast<int>(text.size() + 1));
  });
}

}  // namespace fabrail::topology
