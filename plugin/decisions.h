// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What this process found and chose, as values, and the decisions that follow from them. Pure, but
// for plugin_path() and visible_gpus().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/observe/decision.h"
#include "topology/machine.h"

namespace fabrail::plugin {

/// What is known of the way between NICs and GPU memory.
struct GpuFacts {
  bool gpudirect = false;  ///< NICs reach GPU memory
  bool dmabuf = false;     ///< and get it by dma-buf
  /// By which path and why, or why not and what to do.
  std::string reason = "there is no device";
};

/// All that decisions and requirements are judged by.
struct Facts {
  std::string provider = {};                  ///< empty: none
  bool provider_chosen = false;               ///< FABRAIL_PROVIDER or FI_PROVIDER names it
  std::vector<std::string> passed_over = {};  ///< other providers, and why
  std::string libfabric_path = {};            ///< empty: none was opened
  int libfabric_major = 0;
  int libfabric_minor = 0;
  std::size_t nics = 0;
  bool nics_chosen = false;  ///< FABRAIL_NICS is set
  std::string instance = {};
  const topology::InstanceType* type = nullptr;  ///< null: not known
  int gpus = 0;                                  ///< that this process can see; 0: not known
  std::vector<std::size_t> rails = {};           ///< of each device
  int abi = 0;                                   ///< that NCCL asks for
  std::string version = {};
  std::string path = {};  ///< of the plugin
  std::string topology = {};
  GpuFacts gpu = {};
  /// Decisions made elsewhere, shown after GPUDirect.
  std::vector<observe::Decision> others = {};

  [[nodiscard]] bool uses_efa() const { return provider.starts_with("efa"); }
  /// The NICs that an instance with that many of its GPUs visible has for them: in a container
  /// that is given some of both, all is well. 0: not known.
  [[nodiscard]] std::size_t expected_nics() const;
};

/// In the order in which the chain from the plugin's file to NCCL goes.
std::vector<observe::Decision> decide(const Facts& facts);

/// For people: "8 devices of 4 rails", or "3 devices of 4, 4, 1 rails".
std::string rails_text(const std::vector<std::size_t>& rails);

/// The file that this code was loaded from; empty if that cannot be told.
std::string plugin_path();

/// GPUs that the machine has and this process may use; 0 if it cannot be told.
int visible_gpus(const topology::Machine& machine);

}  // namespace fabrail::plugin
