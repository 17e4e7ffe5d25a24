// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// libfabric, opened at run time, so that a missing or too old library becomes our sentence in
// NCCL's log and not a loader error that NCCL swallows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rdma/fabric.h>

#include "src/base/result.h"

namespace fabrail::fabric {

/// The functions that libfabric exports; all else of its API goes through tables in its objects.
struct Library {
  std::string path;           ///< resolved file
  std::uint32_t version = 0;  ///< as FI_VERSION()
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;
};

/// The oldest libfabric whose behaviour the plugin is tested with.
constexpr std::uint32_t kOldestVersion = FI_VERSION(1, 17);

/// EFA's provider would carry what goes to processes of the same node over shm, with a lock in
/// shared memory and without GPU memory: NCCL has better ways within a node, and whoever turns
/// these off wants to see the NIC.
constexpr const char* kShmTransferVariable = "FI_EFA_ENABLE_SHM_TRANSFER";

/// Opens libfabric and checks its version. Sets kShmTransferVariable to 0 first if nobody has set
/// it: providers read their settings when they are loaded.
///
/// `wanted`  a path or name; empty: libfabric.so.1 as the loader finds it, then the EFA installer's
/// folder. Errors    kUnsupported, saying which files were tried and why each was refused. Thread
/// any. The library stays loaded for the life of the process.
Result<Library> open_library(const std::string& wanted);

/// libfabric's text for an error number of either sign.
std::string error_text(const Library& library, std::int64_t code);

struct FreeInfo {
  const Library* library = nullptr;
  void operator()(fi_info* info) const noexcept { library->freeinfo(info); }
};
using InfoPtr = std::unique_ptr<fi_info, FreeInfo>;

}  // namespace fabrail::fabric
