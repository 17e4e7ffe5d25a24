// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// PCI in hwloc XML, read by hwloc itself, up to the topology file for NCCL.
//
// Each input becomes the I/O objects of an otherwise sound file: hwloc 2.9 itself crashes on files
// whose CPU sets are broken, and we are not here to fuzz hwloc.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "src/base/wire.h"
#include "tests/fuzz/topology_checks.h"
#include "topology/hwloc_reader.h"

// hwloc leaks an object for some of the files that it refuses. What is ours has owners, and
// topology_plan does the same work without hwloc.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

constexpr const char* kHead =
    "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" "
    "complete_cpuset=\"0x1\" allowed_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
    "allowed_nodeset=\"0x1\"><info name=\"DMIProductName\" value=\"p5.48xlarge\"/><object "
    "type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
    "complete_nodeset=\"0x1\"/><object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" "
    "complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\"/>";
constexpr std::size_t kMostObjects = 64;
constexpr std::size_t kDeepest = 12;

class Writer {
 public:
  explicit Writer(fabrail::wire::Reader reader) : reader_(reader) {}

  std::string run() {
    std::string xml = kHead;
    for (std::size_t i = 0; i < kMostObjects && !reader_.rest().empty(); ++i) xml += next();
    for (; open_ > 0; --open_) xml += "</object>";
    return xml + "</object></topology>";
  }

 private:
  unsigned byte() { return reader_.get<std::uint8_t>(); }

  std::string next() {
    const unsigned what = byte() % 5;
    if (what == 0 || open_ >= kDeepest) return close();
    ++open_;
    if (what == 1) return root_bus();
    if (what == 4) return verbs_device();
    return pci_object(what == 2);
  }

  std::string close() {
    if (open_ == 0) return {};
    --open_;
    return "</object>";
  }

  std::string root_bus() {
    const unsigned bus = byte();
    return text(
        "<object type=\"Bridge\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[%02x-%02x]\">",
        bus, byte());
  }

  std::string pci_object(bool bridge) {
    static constexpr std::array kKinds = {
        "0302 [10de:2330] [10de:16c1] a1", "0200 [1d0f:efa1] [1d0f:efa1] 00",
        "0200 [1d0f:efa3] [1d0f:efa3] 00", "0300 [1d0f:1111] [0000:0000] 00"};
    const unsigned bus = byte();
    const unsigned place = byte();
    const unsigned more = byte();
    std::string object = bridge ? text(
                                      "<object type=\"Bridge\" bridge_type=\"1-1\" depth=\"1\" "
                                      "bridge_pci=\"0000:[%02x-%02x]\" ",
                                      bus, more)
                                : "<object type=\"PCIDev\" ";
    object += text("pci_busid=\"%04x:%02x:", more >> 7, bus);
    object += text("%02x.%x\" ", place >> 3, place & 7);
    object += bridge ? "pci_type=\"0604 [1d0f:0200] [1d0f:0200] 00\" "
                     : "pci_type=\"" + std::string(kKinds[more % kKinds.size()]) + "\" ";
    return object + text("pci_link_speed=\"%u.%u\">", place, more);
  }

  std::string verbs_device() {
    return text("<object type=\"OSDev\" osdev_type=\"%u\" name=\"rdmap%us0\">", byte() % 6, byte());
  }

  static std::string text(const char* format, unsigned first, unsigned second) {
    char buffer[128];
    std::snprintf(buffer, sizeof buffer, format, first, second);
    return buffer;
  }

  fabrail::wire::Reader reader_;
  std::size_t open_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string xml = Writer(fabrail::wire::Reader(std::as_bytes(std::span(data, size)))).run();
  auto read = fabrail::topology::read_hwloc_xml("", xml);
  if (!read.ok()) return 0;
  fabrail::topology::Machine machine;
  machine.tree = read.value().tree;
  machine.dmi = {read.value().product_name, "Amazon EC2"};
  fabrail::topology::check_machine(machine, {});
  return 0;
}
