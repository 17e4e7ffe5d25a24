// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Writes class/infiniband, class/infiniband_verbs, class/pci_bus, bus/pci and devices of an
// emulated node.
#include "tests/sim/efa/core/sysfs_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tests/sim/efa/core/address.h"
#include "tests/sim/efa/core/counters.h"
#include "tests/sim/efa/core/pci_config.h"

namespace fabrail::sim {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text << '\n';
}

void put_number(const fs::path& path, uint32_t value, int digits) {
  put(path, fmt::format("0x{:0{}x}", value, digits));
}

/// The PCIe link that carries a NIC of this rate, or a GPU.
PciLink link_for(const PciFunction& function, const Profile& profile) {
  if (function.kind == FunctionKind::kGpu) return {5, 16};
  if (profile.rate_gbps >= 400) return {5, 16};
  return profile.rate_gbps >= 200 ? PciLink{5, 8} : PciLink{4, 8};
}

std::string speed_text(const PciLink& link) {
  return link.generation >= 5 ? "32.0 GT/s PCIe" : "16.0 GT/s PCIe";
}

class TreeWriter {
 public:
  TreeWriter(fs::path root, uint16_t node, const Description& description)
      : root_(std::move(root)), node_(node), description_(description) {}

  void write();

 private:
  void group(const PciGroup& group);
  fs::path bridges(const fs::path& host, const PciGroup& group, const PciFunction& function);
  void pci_device(const fs::path& path, const PciAddress& address, const PciIdentity& identity,
                  int numa);
  void pci_bus(const fs::path& below, uint16_t domain, uint8_t bus);
  void function(const fs::path& parent, const PciGroup& group, const PciFunction& function);
  void nic(const fs::path& pci, const PciFunction& function);
  void port(const fs::path& path, Address address);
  void link_from(const fs::path& where, const fs::path& target);

  fs::path root_;
  uint16_t node_;
  const Description& description_;
};

/// Relative, so that the tree can be moved and mounted.
void TreeWriter::link_from(const fs::path& where, const fs::path& target) {
  if (fs::is_symlink(where)) return;
  fs::create_directories(where.parent_path());
  fs::create_symlink(fs::relative(target, where.parent_path()), where);
}

void TreeWriter::write() {
  fs::create_directories(root_ / "class/infiniband_verbs");
  fs::create_directories(root_ / "class/infiniband");
  fs::create_directories(root_ / "bus/pci/drivers/efa");
  fs::create_directories(root_ / "bus/pci/devices");
  put(root_ / "class/infiniband_verbs/abi_version", "6");
  fs::create_directories(root_ / "class/dmi/id");
  put(root_ / "class/dmi/id/product_name", description_.instance);
  put(root_ / "class/dmi/id/sys_vendor", "Amazon EC2");
  put(root_ / "class/dmi/id/board_asset_tag", fmt::format("i-{:017x}", 0xfab0000u + node_));
  for (const PciGroup& each : description_.groups) group(each);
}

void TreeWriter::pci_bus(const fs::path& below, uint16_t domain, uint8_t bus) {
  const std::string name = fmt::format("{:04x}:{:02x}", domain, bus);
  fs::create_directories(below / "pci_bus" / name);
  link_from(root_ / "class/pci_bus" / name, below / "pci_bus" / name);
}

void TreeWriter::group(const PciGroup& group) {
  const fs::path host = root_ / fmt::format("devices/pci0000:{:02x}", group.root_bus);
  pci_bus(host, 0, group.root_bus);
  for (const PciFunction& each : group.functions) function(bridges(host, group, each), group, each);
}

/// Root port, switch upstream port and one downstream port per function, on the buses behind the
/// root bus.
fs::path TreeWriter::bridges(const fs::path& host, const PciGroup& group,
                             const PciFunction& function) {
  if (!group.has_switch) return host;
  const auto bus = [&](int offset) { return static_cast<uint8_t>(group.root_bus + offset); };
  uint8_t last = 0;
  for (const PciFunction& each : group.functions) last = std::max(last, each.address.bus);
  const PciAddress root_port{0, group.root_bus, 0, 0};
  const PciAddress upstream{0, bus(1), 0, 0};
  const PciAddress downstream{0, bus(2), static_cast<uint8_t>(function.address.bus & 0x1f), 0};
  struct Step {
    PciAddress address;
    uint8_t secondary;
  };
  fs::path path = host;
  for (const Step& step :
       {Step{root_port, bus(1)}, Step{upstream, bus(2)}, Step{downstream, function.address.bus}}) {
    path /= pci_text(step.address);
    const uint8_t subordinate = step.secondary == function.address.bus ? step.secondary : last;
    pci_device(path, step.address, bridge_identity(step.address.bus, step.secondary, subordinate),
               group.numa_node);
    pci_bus(path, 0, step.secondary);
  }
  return path;
}

void TreeWriter::pci_device(const fs::path& path, const PciAddress& address,
                            const PciIdentity& identity, int numa) {
  fs::create_directories(path);
  put_number(path / "class", identity.class_code, 6);
  put_number(path / "vendor", identity.vendor, 4);
  put_number(path / "device", identity.device, 4);
  put_number(path / "subsystem_vendor", identity.vendor, 4);
  put_number(path / "subsystem_device", identity.device, 4);
  // A node that this machine does not have would lead readers to files that are not there.
  const bool exists = fs::exists(fmt::format("/sys/devices/system/node/node{}", numa));
  put(path / "numa_node", std::to_string(exists ? numa : -1));
  for (const char* which : {"max", "current"}) {
    put(path / fmt::format("{}_link_speed", which), speed_text(identity.link));
    put(path / fmt::format("{}_link_width", which), std::to_string(identity.link.lanes));
  }
  const std::string config = pci_config(identity);
  std::ofstream(path / "config", std::ios::binary) << config;
  link_from(path / "subsystem", root_ / "bus/pci");
  link_from(root_ / "bus/pci/devices" / pci_text(address), path);
}

void TreeWriter::function(const fs::path& parent, const PciGroup& group,
                          const PciFunction& function) {
  const fs::path path = parent / pci_text(function.address);
  PciIdentity identity{
      function.vendor, function.device, 0x020000, link_for(function, description_.profile), {}};
  if (function.kind == FunctionKind::kGpu) identity.class_code = 0x030200;
  pci_device(path, function.address, identity, group.numa_node);
  if (function.kind == FunctionKind::kNic) nic(path, function);
}

void TreeWriter::nic(const fs::path& pci, const PciFunction& function) {
  const auto nics = description_.nics();
  uint16_t index = 0;
  while (!(nics[index].address == function.address)) ++index;
  const Address address{node_, index};
  const std::string name = device_name(function.address);
  const fs::path ib = pci / "infiniband" / name;
  const fs::path verbs = pci / "infiniband_verbs" / fmt::format("uverbs{}", index);
  link_from(pci / "driver", root_ / "bus/pci/drivers/efa");
  port(ib / "ports/1", address);
  fs::create_directories(ib / "hw_counters");
  const uint64_t id = guid(address);
  put(ib / "node_guid", fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", id >> 48 & 0xffff,
                                    id >> 32 & 0xffff, id >> 16 & 0xffff, id & 0xffff));
  put(ib / "node_type", "4: unspecified");
  put(ib / "fw_ver", "0.0.0.0");
  link_from(ib / "device", pci);
  link_from(root_ / "class/infiniband" / name, ib);
  fs::create_directories(verbs);
  put(verbs / "ibdev", name);
  put(verbs / "abi_version", "1");
  link_from(verbs / "device", pci);
  link_from(root_ / "class/infiniband_verbs" / fmt::format("uverbs{}", index), verbs);
}

std::string rate_text(uint32_t gbps) {
  const char* kind = gbps >= 400 ? "8X HDR" : gbps >= 200 ? "4X HDR" : "4X EDR";
  return fmt::format("{} Gb/sec ({})", gbps, kind);
}

void TreeWriter::port(const fs::path& path, Address address) {
  fs::create_directories(path / "gids");
  fs::create_directories(path / "hw_counters");
  put(path / "gids/0", gid_text(encode_gid(address)));
  put(path / "state", "4: ACTIVE");
  put(path / "phys_state", "5: LinkUp");
  put(path / "rate", rate_text(description_.profile.rate_gbps));
  put(path / "link_layer", "Unspecified");
  for (const CounterFile& counter : counter_files()) put(path / "hw_counters" / counter.name, "0");
}

}  // namespace

std::string ib_class_path(const std::string& root, const std::string& name) {
  return root + "/class/infiniband/" + name;
}

bool write_sysfs(const std::string& root, uint16_t node, const Description& description) {
  std::error_code error;
  if (fs::exists(root, error)) return true;
  const std::string temporary = fmt::format("{}.{}", root, getpid());
  try {
    TreeWriter(temporary, node, description).write();
  } catch (const fs::filesystem_error& failure) {
    errno = failure.code().value();
    return false;
  }
  fs::rename(temporary, root, error);  // fails if another process was first: then its tree serves
  if (error) fs::remove_all(temporary, error);
  return fs::exists(root, error);
}

}  // namespace fabrail::sim
