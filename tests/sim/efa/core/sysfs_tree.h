// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The sysfs tree of an emulated node, as files: what libfabric, NCCL and hwloc look up.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/efa/core/description.h"

namespace fabrail::sim {

/// Writes the tree at `root` unless it is there. Complete when it appears; false on failure, with
/// errno set.
bool write_sysfs(const std::string& root, uint16_t node, const Description& description);

/// `<root>/class/infiniband/<name>`.
std::string ib_class_path(const std::string& root, const std::string& name);

}  // namespace fabrail::sim
