// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reading machines: hwloc and its traps.
#include "topology/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/topology/machines.h"
#include "tests/topology/temporary.h"
#include "topology/hwloc_reader.h"

namespace fabrail::topology {
namespace {

using testing::temporary_file;

TEST(ReadMachineFile, KnowsTheInstanceAndItsDevices) {
  const auto machine = read_machine_file(testing::data_file("p5.48xlarge"), "");
  ASSERT_TRUE(machine.ok()) << machine.error().text();
  EXPECT_EQ(machine.value().dmi.product_name, "p5.48xlarge");
  const PciTree& tree = machine.value().tree;
  const PciNode& nic = tree.at(tree.find_device({0, 0xc6, 0, 0}));
  EXPECT_EQ(nic.rdma_name, "rdmap198s0");
  EXPECT_EQ(nic.numa, 1);
  EXPECT_NEAR(nic.link_gbytes_per_s, 15.75, 0.01);
}

TEST(ReadMachineFile, DevicesOfTheWholeMachineHaveNoNumaNode) {
  const auto machine = read_machine_file(testing::data_file("p3dn.24xlarge"), "");
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine.value().tree.at(machine.value().tree.find_device({0, 0, 0x15, 0})).numa, -1);
}

// By itself hwloc would load the real machine and report success for each of these.
TEST(ReadMachineFile, BadFilesAreErrors) {
  EXPECT_FALSE(read_machine_file("/nonexistent.xml", "").ok());
  EXPECT_FALSE(read_machine_file(temporary_file("empty.xml", ""), "").ok());
  EXPECT_FALSE(read_machine_file(temporary_file("garbage.xml", "this is no XML"), "").ok());
  EXPECT_FALSE(read_machine_file(temporary_file("other.xml", "<system version=\"1\"/>"), "").ok());
  EXPECT_FALSE(
      read_machine_file(temporary_file("hollow.xml", "<topology version=\"2.0\"></topology>"), "")
          .ok());
}

TEST(ReadMachineFile, AHalfFileIsAnError) {
  std::ifstream stream(testing::data_file("p5.48xlarge"));
  const std::string whole(std::istreambuf_iterator<char>(stream), {});
  EXPECT_FALSE(
      read_machine_file(temporary_file("half.xml", whole.substr(0, whole.size() / 2)), "").ok());
}

TEST(ReadMachineFile, HwlocThatIsNotThereIsNamed) {
  const auto machine = read_machine_file(testing::data_file("p5.48xlarge"), "libnosuchhwloc.so");
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.error().code, Code::kUnsupported);
  EXPECT_NE(machine.error().text().find("libnosuchhwloc.so"), std::string_view::npos);
}

TEST(ReadMachineFile, ALibraryThatIsNotHwlocIsRefused) {
  const auto machine = read_machine_file(testing::data_file("p5.48xlarge"), "libc.so.6");
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.error().code, Code::kUnsupported);
}

TEST(ReadIdentity, IsTheMachineWithoutItsTree) {
  const Machine identity = read_identity({});
  const Machine machine = read_machine({});
  EXPECT_EQ(identity.host_id, machine.host_id);
  EXPECT_EQ(identity.dmi.product_name, machine.dmi.product_name);
  EXPECT_EQ(identity.tree.size(), 1);
}

TEST(ReadMachine, WithoutHwlocSysfsIsReadAndSaid) {
  const Machine machine = read_machine({.hwloc = "libnosuchhwloc.so"});
  EXPECT_TRUE(machine.is_this_machine);
  ASSERT_EQ(machine.notes.size(), 1U);
  EXPECT_NE(machine.notes[0].find("libnosuchhwloc.so"), std::string::npos);
  EXPECT_NE(machine.notes[0].find("sysfs"), std::string::npos);
}

TEST(ReadMachine, ABadXmlFileIsSaidAndThisMachineIsRead) {
  const Machine machine = read_machine({.hwloc_xml = "/nonexistent.xml"});
  EXPECT_TRUE(machine.is_this_machine);
  ASSERT_EQ(machine.complaints.size(), 1U);
  EXPECT_NE(machine.complaints[0].find("/nonexistent.xml"), std::string::npos);
}

TEST(ReadMachine, AnXmlFileStandsForTheMachine) {
  const Machine machine = read_machine({.hwloc_xml = testing::data_file("p4d.24xlarge")});
  EXPECT_FALSE(machine.is_this_machine);
  EXPECT_EQ(machine.dmi.product_name, "p4d.24xlarge");
  EXPECT_EQ(gpus_of(machine.tree).size(), 8U);
}

TEST(ReadMachine, ThisMachineIsReadWithHwlocAndSysfsAlike) {
  const Machine with = read_machine({});
  const Machine without = read_machine({.hwloc = "libnosuchhwloc.so"});
  EXPECT_TRUE(with.is_this_machine);
  EXPECT_TRUE(with.notes.empty());
  EXPECT_EQ(with.host_id, without.host_id);
  EXPECT_EQ(gpus_of(with.tree).size(), gpus_of(without.tree).size());
}

}  // namespace
}  // namespace fabrail::topology
