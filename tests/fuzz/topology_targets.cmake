# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
# The fuzz targets of topology/.
include_guard(GLOBAL)
foreach(target topology_dmi topology_hwloc_xml topology_nccl_lint topology_plan)
  fabrail_add_fuzzer(${target} ${target}.cpp)
  target_link_libraries(${target} PRIVATE fabrail_topology)
endforeach()
