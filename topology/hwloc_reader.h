// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// hwloc's view of a machine, turned into a PciTree.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"
#include "topology/pci_tree.h"

namespace fabrail::topology {

struct HwlocMachine {
  PciTree tree = {};
  std::string product_name = {};  ///< DMI's, as far as hwloc knows it
  bool is_this_machine = true;    ///< false if HWLOC_XMLFILE or the like made hwloc read another
};

/// Reads the machine that we run on. `library` is as for HwlocLibrary::open.
Result<HwlocMachine> read_with_hwloc(const std::string& library);

/// Reads a machine from an hwloc XML file.
///
/// Errors  kUnsupported if hwloc is missing, kInvalidArgument if hwloc does not accept the file.
/// hwloc by itself would then load the real machine and report success.
Result<HwlocMachine> read_hwloc_xml_file(const std::string& library, const std::string& path);

/// The same for XML text.
Result<HwlocMachine> read_hwloc_xml(const std::string& library, std::string_view xml);

}  // namespace fabrail::topology
