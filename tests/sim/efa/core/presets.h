// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors

// Descriptions of the EC2 instance types that carry EFA NICs and GPUs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tests/sim/efa/core/description.h"

namespace fabrail::sim {

/// `p5`, `p4d`, `p5en`, ... or the full name of the instance type.
std::optional<Description> find_preset(std::string_view name);

/// The short names that find_preset knows.
std::vector<std::string_view> preset_names();

}  // namespace fabrail::sim
