// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which real NCCL libraries and which plugins the tests of this directory combine.
#pragma once

#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace fabrail::nccl_test {

using Environment = std::map<std::string, std::string>;

/// A libnccl.so.2 on this machine.
struct Library {
  std::string id;  ///< for test names: its release, or its path with underscores
  std::filesystem::path path;
};

/// A plugin under test.
struct Plugin {
  std::string id;  ///< NCCL_NET_PLUGIN=id finds libnccl-net-<id>.so
  std::filesystem::path path;
  std::string network;         ///< the name in its function tables
  Environment enabled;         ///< makes it report at least one device
  Environment without_device;  ///< makes it report none
};

struct Pair {
  Library library;
  Plugin plugin;
};
std::ostream& operator<<(std::ostream& out, const Pair& pair);

/// What fetch_nccl downloaded, then what is installed, each file once; perhaps none.
std::vector<Library> find_libraries();

/// The stub, and fabrail where it was built.
std::vector<Plugin> find_plugins();

/// Every library with every plugin.
std::vector<Pair> all_pairs();

/// Every library with one plugin.
std::vector<Pair> pairs_with(const std::string& plugin_id);

}  // namespace fabrail::nccl_test
