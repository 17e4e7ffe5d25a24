// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How fast a NIC is where libfabric or the driver does not know.
#pragma once

#include <cstdint>
#include <string>

#include "topology/instance_types.h"

namespace fabrail::topology {

struct NicSpeed {
  std::int64_t mbps = 0;
  std::string reason = {};  ///< empty if it is what libfabric reports
};

/// `reported_mbps`  what libfabric says; 0 or less if nothing.
/// `generation`     EFA's, 0 for another NIC.
/// `instance`       null if the type is not known.
NicSpeed nic_speed(std::int64_t reported_mbps, int generation, const InstanceType* instance);

}  // namespace fabrail::topology
