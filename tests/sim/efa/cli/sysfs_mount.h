// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Puts a node's sysfs tree where software has fixed paths, in a mount namespace of its own.
#pragma once

#include <string>

namespace fabrail::sim {

/// Enters a private mount namespace in which /sys/class and /sys/bus/pci/devices also show the
/// node. False on failure, with errno set.
bool mount_sysfs(const std::string& node_path);

}  // namespace fabrail::sim
