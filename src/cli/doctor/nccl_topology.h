// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reads from a topology file for NCCL what can be compared with the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabrail::doctor {

struct TopologyFile {
  std::vector<std::string> gpus;  ///< bus ids of PCI functions of class 03, lower case
  std::size_t elements = 0;
};

/// Looks through the tags of an XML text. Text that is no XML gives an empty result.
TopologyFile read_topology_file(std::string_view text);

}  // namespace fabrail::doctor
