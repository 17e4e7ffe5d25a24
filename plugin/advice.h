// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What NCCL and libfabric are told besides the devices: variables that suit the instance type, and
// a topology file. Whatever the user has set stays.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/base/config.h"
#include "src/base/log.h"
#include "src/gpu/protocols.h"
#include "topology/instance_types.h"
#include "topology/machine.h"
#include "topology/topology.h"
#include "topology/topology_file.h"

namespace fabrail::plugin {

/// The environment of this process; only plugin/instance.cpp touches the real one.
struct ProcessEnvironment {
  Environment get;
  std::function<void(const char* name, const char* value)> set;  ///< null value: removes it
};

inline constexpr const char* kTopologyVariable = "NCCL_TOPO_FILE";

/// Variables are of use only before their reader looks.
enum class Reader : std::uint8_t { kLibfabric, kNccl };

/// Sets what `instance` (null: unknown) runs best with, where nobody has set it, and says each.
void set_recommended(const topology::InstanceType* instance, Reader reader,
                     const ProcessEnvironment& environment, const Logger& logger);

/// Keeps NCCL from protocols that the network would break, where nobody has set NCCL_PROTO, and
/// warns of a setting that asks for one.
///
/// `allowed`  FABRAIL_TUNE_NCCL.
void advise_protocols(const gpu::ProtocolDecision& decision, bool allowed,
                      const ProcessEnvironment& environment, const Logger& logger);

/// Sets nothing, and warns of a NCCL_PROTO of the user's that asks for what the network would
/// break.
void check_protocols(const gpu::ProtocolDecision& decision, const ProcessEnvironment& environment,
                     const Logger& logger);

/// Whether one of `nics` is an EFA device.
bool uses_efa(const topology::Machine& machine, const std::vector<topology::Nic>& nics);

/// What NCCL's topology depends on. References to what outlives the call.
struct TopologyRequest {
  const topology::Machine& machine;
  const std::vector<topology::Nic>& nics;
  const topology::Plan& plan;
  bool allowed = true;  ///< FABRAIL_TUNE_NCCL
  /// Which NCCL reads by itself where NCCL_TOPO_FILE is not set.
  std::string site_file = "/var/run/nvidia-topologyd/virtualTopology.xml";
};

/// Makes NCCL_TOPO_FILE name a description of the plan's devices where NCCL needs one, or checks
/// the file that the user or the site gives to NCCL, and warns of what is wrong in it.
///
/// Returns the file, to be kept for as long as NCCL may read it: for the life of the process.
std::optional<topology::TopologyFile> give_topology(const TopologyRequest& request,
                                                    const ProcessEnvironment& environment,
                                                    const Logger& logger);

}  // namespace fabrail::plugin
