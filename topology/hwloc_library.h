// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// hwloc opened at run time: its absence must not keep the plugin from loading.
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>

#include "src/base/result.h"

namespace fabrail::topology {

struct LibraryClose {
  void operator()(void* handle) const noexcept;
};

struct TopologyDestroy {
  decltype(&hwloc_topology_destroy) destroy = nullptr;
  void operator()(hwloc_topology* topology) const noexcept { destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, TopologyDestroy>;

/// The functions of hwloc 2.x that we call.
class HwlocLibrary {
 public:
  /// Opens `path`, or, if it is empty, hwloc 2 as the loader finds it.
  ///
  /// Errors  kUnsupported if there is none, or if it is another major version: hwloc 3 lays its
  /// objects out in another way.
  static Result<HwlocLibrary> open(const std::string& path);

  /// A topology that is not loaded yet.
  [[nodiscard]] Result<HwlocTopology> create() const;

  decltype(&hwloc_get_api_version) get_api_version = nullptr;
  decltype(&hwloc_topology_init) topology_init = nullptr;
  decltype(&hwloc_topology_destroy) topology_destroy = nullptr;
  decltype(&hwloc_topology_load) topology_load = nullptr;
  decltype(&hwloc_topology_set_xml) topology_set_xml = nullptr;
  decltype(&hwloc_topology_set_xmlbuffer) topology_set_xmlbuffer = nullptr;
  decltype(&hwloc_topology_set_type_filter) topology_set_type_filter = nullptr;
  decltype(&hwloc_topology_set_all_types_filter) topology_set_all_types_filter = nullptr;
  decltype(&hwloc_topology_is_thissystem) topology_is_thissystem = nullptr;
  decltype(&hwloc_get_obj_by_depth) get_obj_by_depth = nullptr;
  decltype(&hwloc_bitmap_weight) bitmap_weight = nullptr;
  decltype(&hwloc_bitmap_first) bitmap_first = nullptr;
  decltype(&hwloc_topology_set_components) topology_set_components = nullptr;  // null before 2.1

 private:
  std::unique_ptr<void, LibraryClose> handle_;
};

}  // namespace fabrail::topology
