// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Variables for which libfabric's EFA provider ends the process that reads them. A rule that
// depends on the machine asks for what it has to know.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/base/config.h"

namespace fabrail::fabric {

/// What rules ask of the machine, and only where a setting makes it matter: an answer may take a
/// look at a NIC. nullopt: it cannot be told; then only what would come of it anywhere is reported.
struct MachineAnswers {
  /// Whether an EFA NIC here can read by RDMA.
  std::function<std::optional<bool>()> reads_by_rdma = [] { return std::optional<bool>(); };
  /// Whether registered memory survives fork() by the kernel's doing, see
  /// ibv_is_fork_initialized(3).
  std::function<std::optional<bool>()> fork_is_safe = [] { return std::optional<bool>(); };
};

struct FatalSetting {
  const char* name;
  std::string value;
  std::string reason;  ///< a clause: "it no longer has this setting"
};

/// The variables of `environment` for which libfabric `version` (as FI_VERSION()) would end the
/// process.
///
/// Source  tried with libfabric 1.17 and 2.1; the versions between and after: their source.
std::vector<FatalSetting> fatal_settings(std::uint32_t version, const Environment& environment,
                                         const MachineAnswers& machine);

}  // namespace fabrail::fabric
