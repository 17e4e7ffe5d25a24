// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The libraries between NCCL and the NIC as this job would load them: NCCL, plugin, libfabric,
// rdma-core.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cli/doctor/loader.h"
#include "src/cli/doctor/settings.h"
#include "src/cli/doctor/system.h"
#include "src/cli/doctor/version.h"

namespace fabrail::doctor {

/// A library file with the version that it carries.
struct Library {
  FoundLibrary file;
  std::optional<Version> version;
};

/// A libfabric with what it was built with.
struct LibfabricCopy {
  FoundLibrary file;
  std::optional<Version> version;
  bool has_efa = false;
  bool has_cuda = false;
};

enum class PluginKind { kFabrail, kAwsOfiNccl, kHpcx, kOther };

/// What people call a plugin of this kind.
const char* name_of(PluginKind kind);

/// A net plugin's file.
struct Plugin {
  FoundLibrary file;
  PluginKind kind = PluginKind::kOther;
  std::optional<Version> version;
  std::vector<int> abi_versions;  ///< n of every ncclNetPlugin_vN that it exports, ascending
};

/// The whole stack.
struct Software {
  std::vector<Library> nccl;  ///< copies; the first is the one that the loader takes
  std::vector<std::string> plugin_candidates;  ///< file names that NCCL would try, in order
  bool plugin_disabled = false;                ///< NCCL_NET_PLUGIN=none
  std::optional<Plugin> plugin;                ///< the first candidate that the loader finds
  std::vector<Plugin> other_plugins;           ///< on the search path or where installers put them
  std::vector<LibfabricCopy> libfabric;  ///< copies; the first is the one that the plugin gets
  std::optional<FoundLibrary> libibverbs;
  std::optional<FoundLibrary> libefa;
  std::optional<FoundLibrary> libcuda;
  std::optional<FoundLibrary> libgdrapi;
  std::optional<FoundLibrary> tuner;       ///< what NCCL_TUNER_PLUGIN leads to
  std::vector<std::string> uncached;       ///< candidates that only ldconfig would make visible
  std::vector<std::string> unloadable;     ///< candidates that are no libraries for this machine
  std::optional<int> verbs_abi;            ///< n of libibverbs's lib%s-rdmavN.so
  std::vector<std::string> efa_providers;  ///< libefa-rdmavN.so files beside it
  Closure stack;                           ///< the plugin with libfabric and all they need
  std::vector<std::string> undefined;      ///< "symbol (needed by FILE)" that nothing there defines
  std::optional<Version> efa_installer;

  [[nodiscard]] std::optional<Version> nccl_version() const;
  [[nodiscard]] std::optional<Version> libfabric_version() const;
};

/// The file names that NCCL of this version tries for NCCL_NET_PLUGIN=`setting`, in order; none if
/// external plugins are off. An unknown version is taken as the newest.
std::vector<std::string> plugin_candidates(const std::optional<std::string>& setting,
                                           const std::optional<Version>& nccl);

Software read_software(const System& system, const Settings& settings);

/// Reads kind, version and ABI of a plugin's file.
Plugin read_plugin(const System& system, const FoundLibrary& file);

/// Reads version and providers of a libfabric.
LibfabricCopy read_libfabric(const System& system, const FoundLibrary& file);

/// The number of the private ABI in the names of the drivers that this libibverbs loads.
std::optional<int> verbs_abi_of(const System& system, const std::string& path);

/// The version of the NCCL in this file.
std::optional<Version> nccl_version_of(const System& system, const std::string& path);

}  // namespace fabrail::doctor
