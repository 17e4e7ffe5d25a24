// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Topology files that users give to NCCL.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "topology/nccl_lint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using fabrail::topology::Finding;
  const std::string_view xml(reinterpret_cast<const char*>(data), size);
  const fabrail::topology::VisibleDevices devices = {
      .gpus = {{0, 0x53, 0, 0}},
      .nets = {
          {.name = "a", .pci = {0, 0x4f, 0, 0}, .speed_mbps = 400000, .gpu_gbytes_per_s = 48}}};
  for (const Finding& finding : lint_nccl_xml(xml, devices)) {
    if (finding.text.empty() || finding.line < 0) __builtin_trap();
  }
  return 0;
}
