// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/pci_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/machines.h"

namespace fabrail::topology {
namespace {

TEST(PciAddress, ReadsWithAndWithoutDomain) {
  EXPECT_EQ(parse_pci_address("0000:4f:00.0"), (PciAddress{0, 0x4f, 0, 0}));
  EXPECT_EQ(parse_pci_address("10:1b.7"), (PciAddress{0, 0x10, 0x1b, 7}));
  EXPECT_EQ(parse_pci_address("10000:E1:1F.1"), (PciAddress{0x10000, 0xe1, 0x1f, 1}));
}

TEST(PciAddress, RefusesWhatIsNotAnAddress) {
  for (const char* text : {"", ":", "0000:4f:00", "0000:4f:00.8", "0000:4f:20.0", "0000:4f:00.0 ",
                           " 0000:4f:00.0", "0000:4f:00.00", "g0:00.0", "0000:0:4f:00.0", "-1:00.0",
                           "0000::00.0", "000000000:4f:00.0"}) {
    EXPECT_FALSE(parse_pci_address(text)) << text;
  }
}

TEST(PciAddress, IsWrittenAsItIsRead) {
  for (const char* text : {"0000:4f:00.0", "0009:01:1f.7", "10000:e1:00.0"}) {
    EXPECT_EQ(to_text(*parse_pci_address(text)), text);
  }
}

// The chains above a NIC and a GPU of g6 have different lengths, on which hwloc's own function
// fails.
TEST(PciTree, CommonAncestorOfChainsOfDifferentLength) {
  const PciTree tree = testing::read_test_machine("g6.48xlarge").tree;
  const int nic = tree.find_device({0, 0x96, 0, 0});
  const int near = tree.find_device({0, 0x9f, 0, 0});
  const int far = tree.find_device({0, 0xae, 0, 0});
  ASSERT_GE(std::min({nic, near, far}), 0);
  EXPECT_EQ(tree.path(nic, near), Path::kLocality);
  EXPECT_EQ(tree.path(nic, far), Path::kMachine);
  EXPECT_EQ(tree.distance(nic, near), 5 + 3);
  EXPECT_EQ(tree.distance(near, nic), 5 + 3);
}

TEST(PciTree, PathsOfEachKind) {
  const PciTree p5 = testing::read_test_machine("p5.48xlarge").tree;
  const int gpu = p5.find_device({0, 0x53, 0, 0});
  EXPECT_EQ(p5.path(gpu, p5.find_device({0, 0x4f, 0, 0})), Path::kSwitch);
  EXPECT_EQ(p5.path(gpu, p5.find_device({0, 0x60, 0, 0})), Path::kLocality);
  EXPECT_EQ(p5.path(gpu, p5.find_device({0, 0xc6, 0, 0})), Path::kMachine);
  const PciTree p4d = testing::read_test_machine("p4d.24xlarge").tree;
  EXPECT_EQ(p4d.path(p4d.find_device({0, 0x10, 0x1b, 0}), p4d.find_device({0, 0x10, 0x1c, 0})),
            Path::kHostBridge);
}

TEST(PciTree, AmazonsDisplayFunctionIsNoGpu) {
  const PciTree tree = testing::read_test_machine("p5.48xlarge").tree;
  EXPECT_GE(tree.find_device({0, 0, 3, 0}), 0);
  EXPECT_EQ(gpus_of(tree).size(), 8U);
}

TEST(PciTree, UsualPathFollowsTheBridges) {
  const PciTree tree = testing::read_test_machine("p5.48xlarge").tree;
  EXPECT_EQ(usual_sysfs_path(tree, tree.find_device({0, 0x4f, 0, 0})),
            "/sys/devices/pci0000:44/0000:44:00.0/0000:45:00.0/0000:46:01.0/0000:4f:00.0");
}

TEST(EfaGeneration, IsReadFromTheDevice) {
  EXPECT_EQ(efa_generation({.vendor = kVendorAmazon, .device = 0xefa0}), 1);
  EXPECT_EQ(efa_generation({.vendor = kVendorAmazon, .device = 0xefa4}), 5);
  EXPECT_EQ(efa_generation({.vendor = kVendorAmazon, .device = 0xec20}), 0);
  EXPECT_EQ(efa_generation({.vendor = 0x15b3, .device = 0xefa0}), 0);
}

}  // namespace
}  // namespace fabrail::topology
