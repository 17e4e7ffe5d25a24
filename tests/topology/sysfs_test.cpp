// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The tree from sysfs, on folders laid out as the kernel's.
#include "topology/sysfs_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/topology/machines.h"
#include "topology/topology.h"

namespace fabrail::topology {
namespace {

namespace fs = std::filesystem;

/// A /sys of our own, removed at the end.
class Sysfs {
 public:
  Sysfs() : root_(fs::path(::testing::TempDir()) / ("sys" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_ / "bus/pci/devices");
  }
  ~Sysfs() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  Sysfs(const Sysfs&) = delete;
  Sysfs& operator=(const Sysfs&) = delete;

  [[nodiscard]] std::string path() const { return root_.string(); }

  /// Writes `tree`'s GPUs, EFA NICs and bridges.
  void write(const PciTree& tree) {
    for (int i = 0; i < tree.size(); ++i) {
      const PciNode& node = tree.at(i);
      if (node.kind != NodeKind::kBridge && !is_gpu(node) && efa_generation(node) == 0) continue;
      const fs::path folder = root_ / usual_sysfs_path(tree, i).substr(5);
      fs::create_directories(folder);
      put(folder / "class", hex((node.kind == NodeKind::kBridge ? 0x0604 : node.class_id) << 8));
      put(folder / "vendor", hex(node.vendor));
      put(folder / "device", hex(node.device));
      put(folder / "numa_node", std::to_string(node.numa));
      put(folder / "current_link_speed", "16.0 GT/s PCIe");
      put(folder / "current_link_width", "8");
      if (!node.rdma_name.empty()) fs::create_directories(folder / "infiniband" / node.rdma_name);
      fs::create_directory_symlink(folder, root_ / "bus/pci/devices" / to_text(node.address));
    }
  }

 private:
  static std::string hex(int value) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%x", static_cast<unsigned>(value));
    return text;
  }
  static void put(const fs::path& file, const std::string& text) {
    std::ofstream(file) << text << "\n";
  }

  fs::path root_;
};

class SysfsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(SysfsOf, LeadsToTheSameDevicesAsHwloc) {
  const Machine by_hwloc = testing::read_test_machine(GetParam());
  Sysfs sys;
  sys.write(by_hwloc.tree);
  Machine by_sysfs;
  by_sysfs.tree = read_sysfs(sys.path());
  by_sysfs.dmi = by_hwloc.dmi;
  const Plan expected = make_plan(by_hwloc, testing::efa_nics(by_hwloc.tree, 100000), {});
  const Plan plan = make_plan(by_sysfs, testing::efa_nics(by_sysfs.tree, 100000), {});
  EXPECT_EQ(testing::rails_of(plan), testing::rails_of(expected));
  ASSERT_EQ(plan.groups.size(), expected.groups.size());
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    EXPECT_EQ(plan.groups[i].name, expected.groups[i].name);
    EXPECT_EQ(plan.groups[i].numa, expected.groups[i].numa);
    EXPECT_EQ(plan.groups[i].gpus.size(), expected.groups[i].gpus.size());
    EXPECT_EQ(plan.groups[i].gpudirect, expected.groups[i].gpudirect);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, SysfsOf,
                         ::testing::Values("p3dn.24xlarge", "p4d.24xlarge", "p5en.48xlarge",
                                           "g6.48xlarge"),
                         [](const auto& machine) {
                           std::string name = machine.param;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

TEST(Sysfs, LinkRatesAreThoseOfHwloc) {
  Sysfs sys;
  sys.write(testing::read_test_machine("p4d.24xlarge").tree);
  const PciTree tree = read_sysfs(sys.path());
  EXPECT_NEAR(tree.at(tree.find_device({0, 0x10, 0x1b, 0})).link_gbytes_per_s, 15.75, 0.01);
}

TEST(Sysfs, DetailsAreAddedToHwlocsTree) {
  PciTree tree = testing::read_test_machine("p4d.24xlarge").tree;
  Sysfs sys;
  sys.write(tree);
  const int nic = tree.find_device({0, 0x90, 0x1b, 0});
  EXPECT_EQ(tree.at(nic).link_gbytes_per_s, 0);
  add_sysfs_details(tree, sys.path());
  EXPECT_GT(tree.at(nic).link_gbytes_per_s, 15);
  EXPECT_TRUE(tree.at(nic).sysfs_path.ends_with("/devices/pci0000:90/0000:90:1b.0"));
  EXPECT_EQ(tree.at(tree.enclosing(nic, NodeKind::kHostBridge)).numa, 1);
}

TEST(Sysfs, VerbsDevicesTellTheirGuidAndRate) {
  const Sysfs sys;
  const fs::path device = fs::path(sys.path()) / "class/infiniband/rdmap79s0";
  fs::create_directories(device / "ports/1");
  std::ofstream(device / "node_guid") << "0abc:12ff:0000:4f01\n";
  std::ofstream(device / "ports/1/rate") << "200 Gb/sec (4X HDR)\n";
  EXPECT_EQ(read_verbs(sys.path(), "rdmap79s0").node_guid, 0x0abc12ff00004f01U);
  EXPECT_EQ(read_verbs(sys.path(), "rdmap79s0").rate_mbps, 200000);
  EXPECT_EQ(read_verbs(sys.path(), "rdmap80s0").node_guid, 0U);
  EXPECT_EQ(read_verbs(sys.path(), "rdmap80s0").rate_mbps, 0);
}

TEST(Sysfs, WithoutPciThereAreNoDevices) { EXPECT_EQ(read_sysfs("/nonexistent").size(), 1); }

TEST(Sysfs, ADeviceThatGoesAwayIsPassedOver) {
  Sysfs sys;
  sys.write(testing::read_test_machine("p3dn.24xlarge").tree);
  fs::create_directory_symlink("/nonexistent",
                               fs::path(sys.path()) / "bus/pci/devices/0000:00:1f.0");
  EXPECT_EQ(gpus_of(read_sysfs(sys.path())).size(), 8U);
}

}  // namespace
}  // namespace fabrail::topology
