// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Runs the plugin in a process of its own on a pretended machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/topology/machines.h"

namespace fabrail::topology::testing {

/// A device as NCCL is told of it (v12).
struct SeenDevice {
  std::string name = {};
  std::int64_t speed_mbps = 0;
  double latency_us = 0;
  int port = 0;
  int rail_id = 0;
  int plane_id = 0;
  std::uint64_t guid = 0;
  std::string pci_path = {};
};

/// What the plugin said and did.
struct Seen {
  std::vector<std::string> info = {};
  std::vector<std::string> warnings = {};
  std::vector<SeenDevice> devices = {};
  std::vector<std::string> environment = {};  ///< NCCL_... and FI_..., after init
  std::string file = {};                      ///< what NCCL_TOPO_FILE names
  int refused = -1;                           ///< the device whose properties are an error
  int result = 0;                             ///< that error
  int listen = -1;                            ///< what listen on device 0 says
  double cpu_ms = -1;                         ///< that the last init took of a processor
  int status = -1;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The hwloc XML file of a scene's machine without what it hides; fails the test if it cannot.
std::string xml_file_of(const Scene& scene);

/// The NICs that libfabric offers in a scene, and the machine, as variables for run_probe.
Variables variables_of(const Scene& scene);

/// Starts tests/topology/plugin/probe.cpp with these variables and words.
Seen run_probe(const Variables& variables, const std::string& words = {});

/// The value after init, or "" if it is not set.
std::string value_of(const Seen& seen, const std::string& variable);

/// Whether one of the lines has `text` in it.
bool any_has(const std::vector<std::string>& lines, const std::string& text);

}  // namespace fabrail::topology::testing
