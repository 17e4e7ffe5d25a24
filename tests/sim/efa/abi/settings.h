// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// What the environment says about the emulated network, and the node that this process runs on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tests/sim/efa/core/description.h"

namespace fabrail::sim {

/// Looks up an environment variable; null if it is not set.
using Lookup = std::function<const char*(const char*)>;

struct Settings {
  std::string directory;
  uint16_t node = 0;
  Description description;
};

/// FABRAIL_SIM_DIR, _NODE, _INSTANCE (a preset or a file), _NICS, _SET (`key value; key value`). On
/// failure nullopt, and `error` says what is wrong.
std::optional<Settings> read_settings(const Lookup& lookup, std::string& error);

}  // namespace fabrail::sim
