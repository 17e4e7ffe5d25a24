// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/hardware.h"

#include <algorithm>
#include <iterator>

#include "src/cli/doctor/emulation.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr std::size_t kKernelLogBytes = std::size_t{2} << 20;

std::uint32_t sysfs_number(const System& system, const std::string& path) {
  return static_cast<std::uint32_t>(to_number(system.line(path).value_or("")).value_or(0));
}

PciFunction read_function(const System& system, const std::string& address) {
  const std::string path = "/sys/bus/pci/devices/" + address;
  PciFunction function;
  function.address = address;
  function.sysfs_path = system.resolve(path).value_or(path);
  function.vendor = sysfs_number(system, path + "/vendor");
  function.device = sysfs_number(system, path + "/device");
  function.device_class = sysfs_number(system, path + "/class");
  const auto node = to_number(system.line(path + "/numa_node").value_or("-1"));
  function.numa_node = static_cast<int>(node.value_or(-1));
  return function;
}

VerbsDevice read_verbs_device(const System& system, const std::string& name) {
  const std::string path = "/sys/class/infiniband/" + name + "/device";
  VerbsDevice device;
  device.name = name;
  const std::string resolved = system.resolve(path).value_or("");
  device.pci_address = resolved.substr(resolved.rfind('/') + 1);
  const std::uint32_t part = sysfs_number(system, path + "/device");
  device.efa = sysfs_number(system, path + "/vendor") == 0x1d0f && (part & 0xfff0) == 0xefa0;
  device.p2p = system.line(path + "/p2p");
  return device;
}

void find_node(const System& system, VerbsDevice& device) {
  for (const std::string& node : system.list("/sys/class/infiniband_verbs")) {
    if (system.line("/sys/class/infiniband_verbs/" + node + "/ibdev") != device.name) continue;
    device.node = node;
    const auto host = system.on_host("/dev/infiniband/" + node);
    device.node_exists = host.has_value();
    if (host) device.open_error = system.open_device(host->string());
  }
}

/// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ..."
void read_nvidia_driver(const System& system, Hardware& hardware) {
  const auto banner = system.line("/proc/driver/nvidia/version");
  hardware.nvidia_open = banner && contains(*banner, "Open Kernel Module");
  if (const auto version = system.line("/sys/module/nvidia/version")) {
    hardware.nvidia_driver = Version::parse(*version);
    return;
  }
  for (const std::string& word : words(banner.value_or(""))) {
    if (auto version = Version::parse(word)) {
      hardware.nvidia_driver = version;
      return;
    }
  }
}

std::string read_kernel_log(const System& system) {
  for (const char* path :
       {"/dev/kmsg", "/var/log/dmesg", "/var/log/kern.log", "/var/log/messages"}) {
    const bool device = std::string_view(path) == "/dev/kmsg";
    const auto text =
        device ? system.read(path, kKernelLogBytes) : system.read_end(path, kKernelLogBytes);
    if (text && !text->empty()) return *text;
  }
  return {};
}

}  // namespace

std::vector<PciFunction> Hardware::efa_functions() const {
  std::vector<PciFunction> found;
  std::copy_if(functions.begin(), functions.end(), std::back_inserter(found),
               [](const PciFunction& function) { return function.is_efa(); });
  return found;
}

std::vector<PciFunction> Hardware::gpus() const {
  std::vector<PciFunction> found;
  std::copy_if(functions.begin(), functions.end(), std::back_inserter(found),
               [](const PciFunction& function) { return function.is_nvidia_gpu(); });
  return found;
}

std::vector<VerbsDevice> Hardware::efa_devices() const {
  std::vector<VerbsDevice> found;
  std::copy_if(verbs.begin(), verbs.end(), std::back_inserter(found),
               [](const VerbsDevice& device) { return device.efa; });
  return found;
}

bool has_module(const System& system, const std::string& name) {
  return system.exists("/sys/module/" + name);
}

Hardware read_hardware(const System& system) {
  Hardware hardware;
  hardware.sysfs_visible = system.is_folder("/sys/bus") || system.is_folder("/sys/class");
  hardware.product = system.line("/sys/devices/virtual/dmi/id/product_name").value_or("");
  hardware.ec2 = system.line("/sys/devices/virtual/dmi/id/sys_vendor") == "Amazon EC2";
  for (const std::string& address : system.list("/sys/bus/pci/devices")) {
    hardware.functions.push_back(read_function(system, address));
  }
  for (const std::string& name : system.list("/sys/class/infiniband")) {
    hardware.verbs.push_back(read_verbs_device(system, name));
    find_node(system, hardware.verbs.back());
  }
  for (const std::string& node : system.list("/dev/infiniband")) {
    if (node.starts_with("uverbs")) hardware.nodes.push_back(node);
  }
  // Where emulated NICs are shown in /sys, what they pretend to be is the machine.
  if (has_emulated_nics(system) && !hardware.efa_functions().empty())
    hardware.product = emulated_instance(system);
  hardware.kernel = Version::parse(system.line("/proc/sys/kernel/osrelease").value_or(""));
  hardware.efa_driver = Version::parse(system.line("/sys/module/efa/version").value_or(""));
  read_nvidia_driver(system, hardware);
  hardware.kernel_log = read_kernel_log(system);
  if (system.rdma_resources) hardware.resources = read_rdma_resources(system.rdma_resources());
  if (system.libfabric && !hardware.efa_functions().empty())
    hardware.fabric = read_fabric_offer(system.libfabric());
  if (system.nvml && !hardware.gpus().empty()) hardware.nvlinks = read_nvlinks(system.nvml());
  return hardware;
}

}  // namespace fabrail::doctor
