// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Runs commands on emulated nodes: environment, private sysfs mounts, children and their exit
// codes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/efa/cli/view.h"

namespace fabrail::sim {

struct LaunchOptions {
  std::string library_directory;  // of the emulated libibverbs.so.1 and libefa.so.1
  bool mount_sysfs = false;  // over /sys/class and /sys/bus/pci/devices, in a private namespace
  std::vector<std::string> command;
};

/// One process to start. `rank` counts the processes of all nodes.
struct Place {
  uint16_t node = 0;
  uint32_t local_rank = 0;
  uint32_t rank = 0;
  uint32_t size = 1;
};

/// Where the emulated libraries are, seen from this executable: beside it or installed.
std::string find_library_directory();

/// Replaces this process by the command, on a node. Returns only on failure, with errno set.
void run_on_node(const NetworkView& network, const Place& place, const LaunchOptions& options);

/// Starts a process per place and waits for all of them. The exit code is that of the first that
/// failed, else 0.
int run_everywhere(const NetworkView& network, const std::vector<Place>& places,
                   const LaunchOptions& options);

/// Private mounts need root, or a user namespace around everything (one for all nodes: RDMA does
/// not cross them).
bool enter_user_namespace_if_needed();

}  // namespace fabrail::sim
