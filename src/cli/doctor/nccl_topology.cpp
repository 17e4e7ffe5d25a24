// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/nccl_topology.h"

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

void read_tag(std::string_view tag, TopologyFile& file) {
  if (tag.empty() || tag[0] == '/' || tag[0] == '?' || tag[0] == '!') return;
  ++file.elements;
  if (!tag.starts_with("pci ")) return;
  const auto device_class = between(tag, "class=\"", "\"");
  const auto address = between(tag, "busid=\"", "\"");
  if (device_class && address && device_class->starts_with("0x03")) {
    file.gpus.push_back(lower(*address));
  }
}

}  // namespace

TopologyFile read_topology_file(std::string_view text) {
  TopologyFile file;
  for (std::size_t open = text.find('<'); open != std::string_view::npos;
       open = text.find('<', open + 1)) {
    const std::string_view rest = text.substr(open + 1);
    const std::size_t close = rest.find('>');
    if (close == std::string_view::npos) break;
    read_tag(rest.substr(0, close), file);
  }
  return file;
}

}  // namespace fabrail::doctor
