// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The topology file that NCCL should read on machines where its own detection would plan wrongly.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "topology/topology.h"

namespace fabrail::topology {

/// The part of a link's bandwidth from which on it counts as wide enough: what is missing is NCCL's
/// own rounding (100 Gb/s are 12.5 GB/s to it, and 16 lanes of the third generation 12).
constexpr double kLinkTolerance = 0.9;

struct NcclXml {
  std::string text;    ///< empty if NCCL needs no file here
  std::string reason;  ///< why there is one, or none; one sentence
};

/// Describes `plan`'s devices to NCCL, only as far as it cannot find out by itself:
/// - links of multi-rail devices, which carry the sum of the rails and not one NIC's part;
/// - switches and sockets that the guest does not see.
///
/// Only devices that this process has are named, and everything else is left to NCCL, which fills
/// in what a file does not say. Stays within the limits of every NCCL from 2.18.
NcclXml make_nccl_xml(const Machine& machine, std::span<const Nic> nics, const Plan& plan);

/// What NCCL makes of a PCI link, in GB/s: it counts 0.75 per lane of a third generation link, and
/// takes an unknown link for 16 such lanes. `link_gbytes_per_s` as in PciNode.
double nccl_link_gbytes_per_s(double link_gbytes_per_s);

/// The widest link, as NCCL counts, of the GPUs that share a switch with `group`; that of today's
/// GPUs if there is none, or none that tells.
double nccl_gpu_link_gbytes_per_s(const PciTree& tree, const NicGroup& group);

}  // namespace fabrail::topology
