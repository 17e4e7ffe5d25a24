// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The emulated node behind the verbs of this process: opened on first use, never closed.
#pragma once

#include <memory>
#include <string>

#include "tests/sim/efa/core/node.h"

namespace fabrail::sim {

struct Host {
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Node> node;
};

/// Null if the environment is wrong or the network cannot be opened; the reason goes to stderr,
/// once.
///
/// A forked child gets a host of its own: the parent's engine thread and memberships do not exist
/// there.
Host* host();

/// Makes the node's sysfs tree and points SYSFS_PATH to it, as libfabric looks there before it
/// calls a verb.
void prepare_sysfs();

/// False in a forked child, for what its parent opened: there is no engine here, and the parent
/// goes on using it.
bool belongs_here(const Device& device);

/// One line to stderr if FABRAIL_SIM_DEBUG is set.
void debug(const std::string& line);

}  // namespace fabrail::sim
