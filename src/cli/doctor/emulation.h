// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Whether the NICs are software (fabrail-sim): then no kernel driver stands behind them.
#pragma once

#include <string>

#include "src/cli/doctor/system.h"

namespace fabrail::doctor {

/// Whether this environment leads to emulated NICs. Checks on drivers, device files and locked
/// memory do not apply to them.
bool has_emulated_nics(const System& system);

/// The instance type that is emulated, "" if that cannot be told.
std::string emulated_instance(const System& system);

}  // namespace fabrail::doctor
