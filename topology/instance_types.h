// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What is known about each EC2 instance type with EFA, as one table; and which one this is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fabrail::topology {

enum class GpuDirect : std::uint8_t { kNo, kYes, kUnknown };

/// What the guest's PCI tree does not tell by itself.
enum class Layout : std::uint8_t {
  kAsSeen,
  kHiddenSwitches,   ///< the devices of each root bus sit under a switch that the guest cannot see
  kHiddenSockets,    ///< one flat bus without NUMA nodes, though there are two sockets
  kUseOnlyNearNics,  ///< NICs that share no PCI level with a GPU cost more than they bring
};

/// Groups of environment variables, see topology/environment.h.
enum Advice : std::uint8_t {
  kAdviceLargeMessages = 1,
  kAdviceNvls = 2,
  kAdviceOneNicPerGpu = 4,
  kAdviceShmCopies = 8,
};

struct InstanceType {
  const char* name;
  const char* gpu;  ///< "" if it has none that NCCL serves
  int gpus;
  int nics;
  std::int64_t nic_mbps;
  int efa_generation;  ///< 1 is efa0; 0 if not known
  bool rdma_read;
  bool rdma_write;
  GpuDirect gpudirect;
  int latency_us;
  Layout layout;
  std::uint8_t advice;  ///< Advice bits
  const char* note;     ///< for people; "" if there is nothing to say
};

std::span<const InstanceType> instance_types();

/// The row of this name, or null.
const InstanceType* find_instance_type(std::string_view name);

/// What a NIC of this EFA generation runs at where the type is not known; 0 for generation 0.
std::int64_t usual_efa_mbps(int generation);

/// What DMI says about the machine; lines as read, with or without line end.
struct Dmi {
  std::string product_name = {};
  std::string sys_vendor = {};
};

struct DetectedInstance {
  std::string name = {};  ///< "" if this is not an EC2 Nitro machine
  std::string reason = {};
};

/// The instance type's name. `forced` (FABRAIL_INSTANCE) wins over DMI if it is not empty.
DetectedInstance detect_instance(const Dmi& dmi, std::string_view forced);

}  // namespace fabrail::topology
