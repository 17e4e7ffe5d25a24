// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/hwloc_library.h"

#include <dlfcn.h>

#include <cerrno>

namespace fabrail::topology {

namespace {

constexpr const char* kSoname = "libhwloc.so.15";  // every 2.x
constexpr unsigned kMajor = 2;

template <typename Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

}  // namespace

void LibraryClose::operator()(void* handle) const noexcept { dlclose(handle); }

Result<HwlocLibrary> HwlocLibrary::open(const std::string& path) {
  const char* name = path.empty() ? kSoname : path.c_str();
  HwlocLibrary library;
  library.handle_.reset(dlopen(name, RTLD_NOW | RTLD_LOCAL));
  void* handle = library.handle_.get();
  if (handle == nullptr) {
    const char* cause = dlerror();
    return make_error(Code::kUnsupported, 0, "cannot open hwloc: %s", cause ? cause : name);
  }
  if (!find(handle, "hwloc_get_api_version", library.get_api_version)) {
    return make_error(Code::kUnsupported, 0, "%s is not hwloc", name);
  }
  const unsigned version = library.get_api_version();
  const bool complete =
      find(handle, "hwloc_topology_init", library.topology_init) &&
      find(handle, "hwloc_topology_destroy", library.topology_destroy) &&
      find(handle, "hwloc_topology_load", library.topology_load) &&
      find(handle, "hwloc_topology_set_xml", library.topology_set_xml) &&
      find(handle, "hwloc_topology_set_xmlbuffer", library.topology_set_xmlbuffer) &&
      find(handle, "hwloc_topology_set_type_filter", library.topology_set_type_filter) &&
      find(handle, "hwloc_topology_set_all_types_filter", library.topology_set_all_types_filter) &&
      find(handle, "hwloc_topology_is_thissystem", library.topology_is_thissystem) &&
      find(handle, "hwloc_get_obj_by_depth", library.get_obj_by_depth) &&
      find(handle, "hwloc_bitmap_weight", library.bitmap_weight) &&
      find(handle, "hwloc_bitmap_first", library.bitmap_first);
  if (version >> 16 != kMajor || !complete) {
    return make_error(Code::kUnsupported, 0, "%s has the interface of hwloc %u.%u; 2.x is needed",
                      name, version >> 16, version >> 8 & 0xff);
  }
  find(handle, "hwloc_topology_set_components", library.topology_set_components);
  return library;
}

Result<HwlocTopology> HwlocLibrary::create() const {
  hwloc_topology* topology = nullptr;
  if (topology_init(&topology) != 0) {
    return make_error(Code::kSystem, errno, "hwloc_topology_init failed");
  }
  return HwlocTopology(topology, TopologyDestroy{topology_destroy});
}

}  // namespace fabrail::topology
