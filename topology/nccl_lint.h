// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks a topology file that somebody gave to NCCL against the devices that this process has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.h"

namespace fabrail::topology {

enum class Severity : std::uint8_t {
  kError,    ///< NCCL fails
  kWarning,  ///< NCCL plans for what is not there
  kNote,     ///< true for some versions of NCCL, or without effect
};

struct Finding {
  Severity severity = Severity::kNote;
  int line = 0;  ///< of the file; 0 if it is about the whole
  std::string text = {};
};

/// The devices that NCCL will find.
struct VisibleDevices {
  struct Net {
    std::string name = {};  ///< as the plugin calls it
    PciAddress pci = {};
    std::int64_t speed_mbps = 0;
    double gpu_gbytes_per_s = 0;  ///< more than this its GPUs cannot take, in NCCL's counting
  };
  std::vector<PciAddress> gpus = {};
  std::vector<Net> nets = {};
};

VisibleDevices visible_devices(const Machine& machine, std::span<const Nic> nics, const Plan& plan);

/// Says what in `text` NCCL cannot read, or would believe wrongly. Empty if all is well.
std::vector<Finding> lint_nccl_xml(std::string_view text, const VisibleDevices& devices);

}  // namespace fabrail::topology
