// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/machine.h"

#include <fstream>
#include <string_view>
#include <utility>

#include "topology/hwloc_reader.h"
#include "topology/sysfs_reader.h"

namespace fabrail::topology {

namespace {

std::string first_line(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// FNV-1a. Of the boot and not the host's name: containers of one host have names of their own.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

void take(Machine& machine, HwlocMachine read) {
  machine.tree = std::move(read.tree);
  machine.is_this_machine = read.is_this_machine;
  if (!read.is_this_machine) machine.dmi = {read.product_name, "Amazon EC2"};
}

}  // namespace

Machine read_identity(const MachineSources& sources) {
  Machine machine;
  machine.dmi = {first_line(sources.sys + "/devices/virtual/dmi/id/product_name"),
                 first_line(sources.sys + "/devices/virtual/dmi/id/sys_vendor")};
  machine.host_id = hash(first_line(sources.proc + "/sys/kernel/random/boot_id"));
  machine.is_this_machine = true;
  return machine;
}

Machine read_machine(const MachineSources& sources) {
  Machine machine = read_identity(sources);
  const bool from_file = !sources.hwloc_xml.empty();
  auto read = from_file ? read_hwloc_xml_file(sources.hwloc, sources.hwloc_xml)
                        : read_with_hwloc(sources.hwloc);
  if (!read.ok()) {
    machine.tree = read_sysfs(sources.sys);
    auto& list = from_file ? machine.complaints : machine.notes;
    list.push_back((from_file ? "HWLOC_XMLFILE: " : "") + std::string(read.error().text()) +
                   "; reading this machine's PCI tree from sysfs instead");
    return machine;
  }
  take(machine, read.take());
  if (machine.is_this_machine) {
    add_sysfs_details(machine.tree, sources.sys);
  } else {
    machine.notes.emplace_back("hwloc describes another machine, from a file (HWLOC_XMLFILE)");
  }
  return machine;
}

Result<Machine> read_machine_file(const std::string& path, const std::string& hwloc) {
  FR_TRY_ASSIGN(HwlocMachine read, read_hwloc_xml_file(hwloc, path));
  Machine machine;
  take(machine, std::move(read));
  machine.host_id = hash(machine.dmi.product_name);
  return machine;
}

}  // namespace fabrail::topology
