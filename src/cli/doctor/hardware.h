// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The NICs, GPUs, verbs devices and kernel modules that a machine's /sys, /dev and /proc show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/doctor/library_answers.h"
#include "src/cli/doctor/rdma_resources.h"
#include "src/cli/doctor/system.h"
#include "src/cli/doctor/version.h"

namespace fabrail::doctor {

/// One PCI function.
struct PciFunction {
  std::string address;     ///< "0000:4f:00.0"
  std::string sysfs_path;  ///< links followed: shows the bridges above
  std::uint32_t vendor = 0;
  std::uint32_t device = 0;
  std::uint32_t device_class = 0;  ///< 24 bits
  int numa_node = -1;

  [[nodiscard]] bool is_efa() const { return vendor == 0x1d0f && (device & 0xfff0) == 0xefa0; }
  [[nodiscard]] bool is_nvidia_gpu() const {
    return vendor == 0x10de && (device_class >> 16) == 0x03;
  }
  [[nodiscard]] bool is_nvswitch() const {
    return vendor == 0x10de && (device_class >> 8) == 0x0680;
  }
};

/// One device under /sys/class/infiniband.
struct VerbsDevice {
  std::string name;  ///< "rdmap79s0"
  bool efa = false;
  std::string pci_address;
  std::string node;                ///< "uverbs0", "" if the kernel shows none
  bool node_exists = false;        ///< in /dev/infiniband
  int open_error = 0;              ///< errno of opening the node; 0 if it opens
  std::optional<std::string> p2p;  ///< the EFA driver's GPU peer-to-peer provider
};

/// Everything that concerns hardware and kernel.
struct Hardware {
  bool sysfs_visible = false;  ///< false for the root folder of an image
  std::string product;         ///< DMI product name: the instance type on EC2
  bool ec2 = false;
  std::vector<PciFunction> functions;
  std::vector<VerbsDevice> verbs;
  std::vector<std::string> nodes;  ///< uverbs files in /dev/infiniband
  std::optional<Version> kernel;
  std::optional<Version> efa_driver;
  std::optional<Version> nvidia_driver;
  bool nvidia_open = false;  ///< NVIDIA's open kernel modules, the ones that export dma-bufs
  std::string kernel_log;
  std::vector<DeviceResources> resources;  ///< empty if the kernel does not say
  FabricOffer fabric;                      ///< asked for only where there are EFA NICs
  std::vector<NvLinks> nvlinks;  ///< asked for only where there are GPUs; those with links

  [[nodiscard]] std::vector<PciFunction> efa_functions() const;
  [[nodiscard]] std::vector<PciFunction> gpus() const;
  [[nodiscard]] std::vector<VerbsDevice> efa_devices() const;
};

Hardware read_hardware(const System& system);

/// Whether a module is loaded or built into the kernel.
bool has_module(const System& system, const std::string& name);

}  // namespace fabrail::doctor
