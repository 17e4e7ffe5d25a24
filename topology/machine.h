// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reads the machine that we run on, or one described in a file, by the best means at hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "topology/instance_types.h"
#include "topology/pci_tree.h"

namespace fabrail::topology {

struct Machine {
  PciTree tree = {};
  Dmi dmi = {};
  std::uint64_t host_id = 0;  ///< the same for all processes of a boot, another on other hosts
  bool is_this_machine = false;
  std::vector<std::string> notes = {};       ///< how it was read, and what was missing
  std::vector<std::string> complaints = {};  ///< what the user asked for and did not get
};

struct MachineSources {
  std::string hwloc = {};      ///< path or name of the library; empty for hwloc 2 as installed
  std::string hwloc_xml = {};  ///< HWLOC_XMLFILE: another machine's description, for tests
  std::string sys = "/sys";
  std::string proc = "/proc";
};

/// Reads what tells this machine from others, and no PCI tree: a few small files. Never fails.
Machine read_identity(const MachineSources& sources);

/// Reads this machine; never fails. Without hwloc, or with a bad `hwloc_xml`, the PCI tree comes
/// from sysfs; a note or a complaint says so.
Machine read_machine(const MachineSources& sources);

/// Reads the machine that an hwloc XML file describes, and nothing of this one.
Result<Machine> read_machine_file(const std::string& path, const std::string& hwloc);

}  // namespace fabrail::topology
