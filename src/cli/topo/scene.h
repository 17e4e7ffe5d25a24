// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A machine made ready to be shown: GPUs and devices numbered, and put where they sit.
#pragma once

#include <string>
#include <vector>

#include "topology/environment.h"
#include "topology/nccl_xml.h"
#include "topology/topology.h"

namespace fabrail::cli::topo {

/// A GPU as it is shown.
struct ShownGpu {
  int node = 0;   ///< in the tree
  int index = 0;  ///< as nvidia-smi counts: by PCI address
  std::string model = {};
  int device = -1;  ///< the device nearest to it; -1 if there is none
  topology::Path path = topology::Path::kMachine;  ///< to that device
  bool gpudirect = false;                          ///< as far as the place and the type tell
};

/// What sits under one switch, or under one root bus: indices of GPUs and devices.
struct Place {
  std::string name = {};
  int numa = -1;
  std::vector<std::size_t> gpus = {};
  std::vector<std::size_t> devices = {};
};

struct Scene {
  topology::Machine machine;
  std::vector<topology::Nic> nics;
  topology::Plan plan;
  topology::NcclXml xml;
  std::vector<topology::Recommendation> environment;
  std::vector<ShownGpu> gpus;
  std::vector<Place> places;  ///< by NUMA node, then by address
};

/// Takes the NICs from the machine's PCI tree, so that it works where libfabric is not and for
/// machines that are elsewhere. `sys` is read for details of this machine's NICs.
Scene make_scene(topology::Machine machine, const topology::Settings& settings,
                 const std::string& sys);

/// The PCI links behind a device: "4 × 15.8 GB/s"; "" if it is not on PCI.
std::string links_of(const Scene& scene, const topology::NicGroup& group);

/// "63.0 GB/s".
std::string link_text(double gbytes_per_s);

/// "same switch", "same root bus" ...
const char* describe(topology::Path path);

}  // namespace fabrail::cli::topo
