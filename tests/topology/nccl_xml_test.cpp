// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/nccl_xml.h"

#include <gtest/gtest.h>

#include "tests/topology/machines.h"
#include "topology/xml_reader.h"

namespace fabrail::topology::testing {
namespace {

NcclXml xml_of(const Scene& scene) {
  const Machine machine = machine_of(scene);
  const std::vector<Nic> nics = nics_of(scene, machine);
  return make_nccl_xml(machine, nics, make_plan(machine, nics, scene.settings));
}

const XmlElement* pci(const XmlDocument& document, const std::string& busid) {
  for (const XmlElement& element : document.elements) {
    const std::string* found = element.find("busid");
    if (found && *found == busid) return &element;
  }
  return nullptr;
}

TEST(NcclXml, IsMadeOnlyWhereNcclWouldPlanWrongly) {
  const std::pair<const char*, bool> machines[] = {
      {"p3dn.24xlarge", false}, {"p4d.24xlarge", true},      {"p5.48xlarge", true},
      {"p5en.48xlarge", true},  {"p6-b200.48xlarge", false}, {"p6-b300.48xlarge", true},
      {"g5.48xlarge", true},    {"g6.48xlarge", false},      {"g6e.48xlarge", false}};
  for (const auto& [machine, expected] : machines) {
    EXPECT_EQ(!xml_of({.machine = machine, .reported_mbps = 0}).text.empty(), expected) << machine;
  }
}

TEST(NcclXml, LeadersHangAtTheSwitchThatNcclFindsForTheGpu) {
  const XmlDocument document = read_nccl_xml(xml_of({.machine = "p5.48xlarge"}).text);
  ASSERT_FALSE(document.stop) << document.stop->text;
  const XmlElement* leader = pci(document, "0000:4f:00.0");
  ASSERT_NE(leader, nullptr);
  // From 0000:53:00.0 (the GPU) NCCL goes two levels up, to the port towards the CPU.
  EXPECT_EQ(document.elements[static_cast<std::size_t>(leader->parent)].find("busid")->substr(0),
            "0000:45:00.0");
  EXPECT_EQ(*leader->find("link_speed"), "32.0 GT/s PCIe");
  EXPECT_EQ(*leader->find("link_width"), "16");
  EXPECT_EQ(pci(document, "0000:50:00.0"), nullptr) << "only leaders are named";
}

TEST(NcclXml, DevicesOfOneRailKeepTheirTrueLink) {
  const XmlDocument document = read_nccl_xml(
      xml_of({.machine = "p5.48xlarge", .hidden = {"0000:50:00.0", "0000:51:00.0", "0000:52:00.0"}})
          .text);
  ASSERT_NE(pci(document, "0000:4f:00.0"), nullptr);
  EXPECT_EQ(pci(document, "0000:4f:00.0")->find("link_speed"), nullptr);
  EXPECT_NE(pci(document, "0000:60:00.0")->find("link_speed"), nullptr);
}

TEST(NcclXml, LinksAreNotRaisedAboveTheGpus) {
  Scene scene = {.machine = "p5.48xlarge"};
  Machine machine = machine_of(scene);
  for (const int gpu : gpus_of(machine.tree)) machine.tree.at(gpu).link_gbytes_per_s = 31.5;
  const std::vector<Nic> nics = nics_of(scene, machine);
  const XmlDocument document =
      read_nccl_xml(make_nccl_xml(machine, nics, make_plan(machine, nics, {})).text);
  EXPECT_EQ(*pci(document, "0000:4f:00.0")->find("link_speed"), "16.0 GT/s PCIe");
}

TEST(NcclXml, HiddenGpusAreNotNamed) {
  const NcclXml xml = xml_of({.machine = "p4d.24xlarge", .hidden = {"0000:10:1c.0"}});
  EXPECT_EQ(xml.text.find("0000:10:1c.0"), std::string::npos);
  EXPECT_NE(xml.text.find("0000:10:1d.0"), std::string::npos);
}

TEST(NcclXml, CpusOfOneHostHaveOneHash) {
  const XmlDocument document = read_nccl_xml(xml_of({.machine = "p5.48xlarge"}).text);
  std::vector<std::string> hashes;
  for (const XmlElement& element : document.elements) {
    if (element.name == "cpu") hashes.push_back(*element.find("host_hash"));
  }
  ASSERT_EQ(hashes.size(), 2U);
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0], "0x0");
}

TEST(NcclXml, WithoutPciThereIsNoFile) {
  const std::vector<Nic> nics = {{.name = "eth0"}};
  EXPECT_TRUE(make_nccl_xml({}, nics, make_plan({}, nics, {})).text.empty());
  EXPECT_TRUE(make_nccl_xml({}, {}, make_plan({}, {}, {})).text.empty());
}

// All of the NICs flat on one root bus, as no machine has them: 40 devices of two rails.
TEST(NcclXml, WhatNcclsReaderCannotTakeIsNotWritten) {
  PciTree tree;
  const int root = tree.add(0, {.kind = NodeKind::kHostBridge});
  for (std::uint8_t bus = 0; bus < 40; ++bus) {
    tree.add(root, {.address = {0, bus, 1, 0}, .class_id = 0x0302, .vendor = kVendorNvidia});
    for (std::uint8_t device = 2; device < 4; ++device) {
      tree.add(root, {.address = {0, bus, device, 0}, .vendor = kVendorAmazon, .device = 0xefa1});
    }
  }
  Machine machine;
  machine.tree = tree;
  const std::vector<Nic> nics = efa_nics(tree, 100000);
  const Plan plan = make_plan(machine, nics, {});
  EXPECT_EQ(plan.groups.size(), 40U);
  const NcclXml xml = make_nccl_xml(machine, nics, plan);
  EXPECT_EQ(xml.text, "");
  EXPECT_NE(xml.reason.find("too many"), std::string::npos);
}

}  // namespace
}  // namespace fabrail::topology::testing
