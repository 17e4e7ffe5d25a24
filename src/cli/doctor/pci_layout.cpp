// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/pci_layout.h"

#include <cstdint>
#include <cstring>
#include <set>

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr std::size_t kExtendedStart = 0x100;
constexpr std::uint32_t kAcsCapability = 0x000d;
constexpr std::uint16_t kAcsSourceValidation = 1;
constexpr int kMostCapabilities = 64;

template <typename T>
T word_at(std::string_view config, std::size_t offset) {
  T value = 0;
  if (offset + sizeof value <= config.size()) {
    std::memcpy(&value, config.data() + offset, sizeof value);
  }
  return value;
}

/// Addresses of the bridges in a /sys path, without the function at its end.
std::vector<std::string> bridges_above(const std::string& sysfs_path) {
  std::vector<std::string> bridges;
  for (const std::string& part : split(sysfs_path, '/')) {
    if (part.size() == 12 && part[4] == ':' && part[7] == ':') bridges.push_back(part);
  }
  if (!bridges.empty()) bridges.pop_back();
  return bridges;
}

}  // namespace

std::string pci_root_of(std::string_view sysfs_path) {
  for (const std::string& part : split(sysfs_path, '/')) {
    if (part.starts_with("pci") && contains(part, ":")) return part;
  }
  return "";
}

std::vector<std::string> gpus_far_from_nics(const Hardware& hardware) {
  std::set<std::string> roots;
  for (const PciFunction& nic : hardware.efa_functions()) roots.insert(pci_root_of(nic.sysfs_path));
  std::vector<std::string> far;
  for (const PciFunction& gpu : hardware.gpus()) {
    if (roots.count(pci_root_of(gpu.sysfs_path)) == 0) far.push_back(gpu.address);
  }
  return far;
}

bool has_acs_on(std::string_view config) {
  std::size_t at = kExtendedStart;
  for (int i = 0; i < kMostCapabilities && at >= kExtendedStart; ++i) {
    const auto header = word_at<std::uint32_t>(config, at);
    if ((header & 0xffff) == kAcsCapability) {
      return (word_at<std::uint16_t>(config, at + 6) & kAcsSourceValidation) != 0;
    }
    at = header >> 20;  // 0 ends the list
  }
  return false;
}

std::vector<std::string> bridges_with_acs(const System& system, const Hardware& hardware) {
  std::set<std::string> bridges;
  for (const PciFunction& gpu : hardware.gpus()) {
    for (const std::string& bridge : bridges_above(gpu.sysfs_path)) bridges.insert(bridge);
  }
  std::vector<std::string> on;
  for (const std::string& bridge : bridges) {
    const auto config = system.read("/sys/bus/pci/devices/" + bridge + "/config", 4096);
    if (has_acs_on(config.value_or(""))) on.push_back(bridge);
  }
  return on;
}

}  // namespace fabrail::doctor
