// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What `fabrail topo` does, without its command line.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace fabrail::cli::topo {

struct Options {
  std::string from = {};       ///< hwloc XML file; empty for this machine
  std::string hwloc_xml = {};  ///< HWLOC_XMLFILE
  std::string instance = {};
  std::int64_t max_rails = 0;
  std::string lint = {};  ///< a topology file of NCCL's to check
  std::string svg = {};   ///< file to draw into
  bool json = false;
  bool nccl_xml = false;
  bool color = false;
};

/// Prints to `out`, complaints to `err`. Returns 0; 1 if a file cannot be read or written, or if
/// `lint` found errors.
int run(const Options& options, std::ostream& out, std::ostream& err);

}  // namespace fabrail::cli::topo
