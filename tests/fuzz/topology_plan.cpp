// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Machines of any shape: each input grows a PCI tree, and what is planned for it must hold
// together.
#include <cstddef>
#include <cstdint>

#include "src/base/wire.h"
#include "tests/fuzz/topology_checks.h"
#include "topology/instance_types.h"

namespace {

using fabrail::topology::NodeKind;
using fabrail::topology::PciNode;

constexpr int kMostNodes = 300;

PciNode node_of(std::uint8_t what, std::uint8_t bus, std::uint8_t function) {
  PciNode node{.numa = what >> 6 == 3 ? -1 : what >> 6,
               .address = {0, bus, static_cast<std::uint8_t>(function >> 3),
                           static_cast<std::uint8_t>(function & 7)},
               .link_gbytes_per_s = static_cast<double>(function)};
  switch (what & 7) {
    case 0:
      node.kind = NodeKind::kLocality;
      break;
    case 1:
      node.kind = NodeKind::kHostBridge;
      break;
    case 2:
    case 3:
      node.kind = NodeKind::kBridge;
      break;
    case 4:
      node.vendor = fabrail::topology::kVendorNvidia;
      node.class_id = 0x0302;
      break;
    case 5:
      node.vendor = 0x15b3;
      break;
    default:
      node.vendor = fabrail::topology::kVendorAmazon;
      node.device = static_cast<std::uint16_t>(0xefa0 + (what >> 3 & 3));
  }
  return node;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fabrail::wire::Reader reader(std::as_bytes(std::span(data, size)));
  fabrail::topology::Machine machine;
  const auto types = fabrail::topology::instance_types();
  const auto type = reader.get<std::uint8_t>();
  const auto rails = reader.get<std::uint8_t>();
  while (machine.tree.size() < kMostNodes && !reader.rest().empty()) {
    const auto parent = static_cast<int>(reader.get<std::uint8_t>()) % machine.tree.size();
    const auto what = reader.get<std::uint8_t>();
    const auto bus = reader.get<std::uint8_t>();
    machine.tree.add(parent, node_of(what, bus, reader.get<std::uint8_t>()));
  }
  fabrail::topology::check_machine(
      machine, {.instance = type < types.size() ? types[type].name : "", .max_rails = rails % 8});
  return 0;
}
