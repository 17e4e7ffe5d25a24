// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What only libraries can tell: which NICs libfabric offers, and how the driver sees NVLink.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fabrail::doctor {

/// The NICs of EFA that libfabric offers for reliable datagrams, as `fi_info -p efa -t FI_EP_RDM`.
struct FabricOffer {
  bool answered = false;  ///< a libfabric could be opened and asked
  std::string version;
  std::string error;                              ///< libfabric's own words where it offers none
  std::vector<std::string> nics;                  ///< sorted, each once
  std::vector<std::string> nics_with_gpu_memory;  ///< of these, with FI_HMEM
};

/// One GPU's links to others, as `nvidia-smi nvlink -s` and `-e`.
struct NvLinks {
  unsigned gpu = 0;
  unsigned links = 0;
  unsigned active = 0;
  std::uint64_t errors = 0;  ///< replays and recoveries since the driver was loaded
};

/// Opens libfabric as the plugin would, and asks it. In a child: its providers abort() for some
/// environments, and that must not end the doctor. Lines for read_fabric_offer(); "" if it died.
std::string ask_libfabric();
FabricOffer read_fabric_offer(std::string_view answer);

/// Asks libnvidia-ml.so.1, in a child. Lines for read_nvlinks(); "" without it.
std::string ask_nvml();
std::vector<NvLinks> read_nvlinks(std::string_view answer);

}  // namespace fabrail::doctor
