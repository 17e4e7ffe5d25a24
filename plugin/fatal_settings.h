// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A variable that is left over in somebody's script must not end a training job: what libfabric
// would end the process for is taken out of its environment before libfabric reads it.
#pragma once

#include <cstdint>

#include "plugin/advice.h"
#include "src/base/log.h"
#include "src/fabric/fatal_settings.h"

namespace fabrail::plugin {

/// Removes each setting that would end this process from `environment`, and warns of it. What else
/// goes with them: without FI_EFA_USE_HUGE_PAGE libfabric takes ordinary pages, without
/// FI_EFA_RECVWIN_SIZE its larger default. The others do nothing else there.
///
/// `libfabric`  its version, as FI_VERSION().
void remove_fatal_settings(std::uint32_t libfabric, const fabric::MachineAnswers& machine,
                           const ProcessEnvironment& environment, const Logger& logger);

}  // namespace fabrail::plugin
