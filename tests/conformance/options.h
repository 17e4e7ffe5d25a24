// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the command line asks for.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/net.h"

namespace fabrail::conformance {

struct Options {
  std::string plugin;       ///< absolute path
  bool own_plugin = false;  ///< fabrail's, so that what only fabrail promises is checked too
  std::vector<int> abis;    ///< asked for, and exported by the plugin
  bool long_run = false;
  bool isolate = false;
  std::string memory = "host";    ///< of messages; as peers get it
  bool must_take_memory = false;  ///< a plugin that refuses such memory has failed
  bool memory_known = false;      ///< another process has seen that the plugin takes it
  bool device_memory() const { return memory != "host"; }
  bool by_dmabuf() const { return memory == "dmabuf"; }
  std::string peer_role;  ///< this process is the other side of a test
  int peer_abi = 0;
  int peer_channel = -1;
};

/// Reads argv; leaves GoogleTest's own flags to it. Exits on a wrong command line.
void read_options(int* argc, char** argv);
const Options& options();

/// The plugin under test, opened once per process.
const Library& library();

/// The ABI version for cases that do not depend on it: 8 when it is among the chosen ones.
int primary_abi();

/// `quick` normally, `thorough` with --long.
template <class T>
T sized(T quick, T thorough) {
  return options().long_run ? thorough : quick;
}

}  // namespace fabrail::conformance
