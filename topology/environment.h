// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The environment that each instance type runs best with; only values, whoever sets them asks first
// whether the user did.
#pragma once

#include <string_view>
#include <vector>

#include "topology/instance_types.h"

namespace fabrail::topology {

struct Recommendation {
  std::string_view name;
  std::string_view value;
  std::string_view reason;       ///< for people
  std::string_view unless = {};  ///< a variable of the user's beside which it does harm
};

/// For every version of NCCL and libfabric alike: those that do not know a variable pass over it.
/// The topology file is not among them, see nccl_xml.h. `instance` may be null.
std::vector<Recommendation> recommended_environment(const InstanceType* instance);

}  // namespace fabrail::topology
