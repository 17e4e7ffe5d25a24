// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The rules behind the golden files, one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/topology/golden.h"

namespace fabrail::topology::testing {
namespace {

using Rails = std::vector<std::size_t>;
using Speeds = std::vector<std::int64_t>;

struct Expected {
  const char* scene;
  Rails rails;
  std::int64_t speed_mbps;  // of every device
  std::size_t gpus;         // of every device
};

TEST(Plan, DevicesOfEveryTypeAreAsExpected) {
  const std::vector<Expected> table = {
      {"p3dn", {1}, 100000, 8},
      {"p4d", Rails(4, 1), 100000, 2},
      {"p5", Rails(8, 4), 400000, 1},
      {"p5en", Rails(8, 2), 400000, 1},
      {"p6-b200", Rails(8, 1), 400000, 1},
      {"p6-b300", Rails(8, 2), 800000, 1},
      {"g5", {1}, 100000, 8},
      {"g6", {1}, 100000, 8},
      {"g6e", Rails(4, 1), 100000, 2},
  };
  for (const Expected& row : table) {
    const auto golden =
        std::ranges::find(golden_scenes(), std::string_view(row.scene),
                          [](const GoldenScene& g) { return std::string_view(g.name); });
    ASSERT_NE(golden, golden_scenes().end()) << row.scene;
    const Plan plan = plan_of(golden->scene);
    EXPECT_EQ(rails_of(plan), row.rails) << row.scene;
    for (const NicGroup& group : plan.groups) {
      EXPECT_EQ(group.speed_mbps, row.speed_mbps) << row.scene << " " << group.name;
      EXPECT_EQ(group.gpus.size(), row.gpus) << row.scene << " " << group.name;
    }
  }
}

Plan plan_named(const std::string& name) {
  for (const GoldenScene& golden : golden_scenes()) {
    if (golden.name == name) return plan_of(golden.scene);
  }
  ADD_FAILURE() << "no scene " << name;
  return {};
}

TEST(Plan, UnevenSwitchesGiveEachDeviceItsOwnSpeed) {
  const Plan plan = plan_named("p5-one-nic-on-four-switches");
  EXPECT_EQ(rails_of(plan), (Rails{1, 1, 1, 1, 4, 4, 4, 4}));
  EXPECT_EQ(speeds_of(plan),
            (Speeds{100000, 100000, 100000, 100000, 400000, 400000, 400000, 400000}));
}

TEST(Plan, SwitchesWithoutNicsLeaveTheirGpusToTheNearestDevices) {
  const Plan plan = plan_named("p5-no-nic-on-two-switches");
  EXPECT_EQ(rails_of(plan), Rails(6, 4));
  std::size_t far = 0;
  for (const NicGroup& group : plan.groups) {
    far +=
        static_cast<std::size_t>(std::ranges::count(group.gpus, Path::kLocality, &GroupGpu::path));
    EXPECT_EQ(group.gpudirect, GpuDirect::kYes) << group.name;
  }
  EXPECT_EQ(far, 2U);
}

TEST(Plan, FourteenOfSixteenNicsSplitUnevenly) {
  EXPECT_EQ(rails_of(plan_named("p5en-14-nics")), (Rails{2, 1, 2, 1, 2, 2, 2, 2}));
}

TEST(Plan, HiddenGpusDoNotChangeTheDevices) {
  const Plan whole = plan_named("p5");
  const Plan half = plan_named("p5-half-the-gpus");
  ASSERT_EQ(whole.groups.size(), half.groups.size());
  for (std::size_t i = 0; i < whole.groups.size(); ++i) {
    EXPECT_EQ(whole.groups[i].name, half.groups[i].name);
    EXPECT_EQ(whole.groups[i].rails.size(), half.groups[i].rails.size());
  }
}

TEST(Plan, WithoutAnyGpuTheTableTellsTheSizeOfADevice) {
  std::vector<std::string> gpus;
  const Machine machine = read_test_machine("p5.48xlarge");
  for (const int gpu : gpus_of(machine.tree)) gpus.push_back(to_text(machine.tree.at(gpu).address));
  const Plan plan = plan_of({.machine = "p5.48xlarge", .hidden = gpus});
  EXPECT_EQ(rails_of(plan), Rails(8, 4));
  EXPECT_EQ(plan.groups[0].gpudirect, GpuDirect::kUnknown);
}

TEST(Plan, WithoutAnyGpuAndTypeThereIsADeviceForEachNetwork) {
  Machine machine = read_test_machine("p5.48xlarge");
  std::vector<std::string> gpus;
  for (const int gpu : gpus_of(machine.tree)) gpus.push_back(to_text(machine.tree.at(gpu).address));
  machine.tree = without(machine.tree, gpus);
  machine.dmi = {};
  std::vector<Nic> nics = efa_nics(machine.tree, 0);
  nics[0].network = "other";
  const Plan plan = make_plan(machine, nics, {});
  ASSERT_EQ(rails_of(plan), (Rails{1, 31}));
  EXPECT_EQ(plan.groups[1].speed_mbps, 3100000) << "EFA's usual rate";
  EXPECT_NE(plan.groups[1].pci_path, "");
}

TEST(Plan, RatesOfZeroAreReplacedByTheTable) {
  for (const NicGroup& group : plan_named("p6-b200-no-rate").groups) {
    EXPECT_EQ(group.speed_mbps, 400000);
    EXPECT_FALSE(group.reasons.empty());
  }
}

TEST(Plan, MaxRailsSplitsInsteadOfLeavingNicsIdle) {
  const Plan plan = plan_named("p5-two-rails-at-most");
  EXPECT_EQ(rails_of(plan), Rails(16, 2));
  EXPECT_EQ(plan.groups[0].gpus[0].address, plan.groups[1].gpus[0].address);
}

TEST(Plan, OrderDoesNotDependOnLibfabricsOrder) {
  const Machine machine = read_test_machine("p5.48xlarge");
  std::vector<Nic> nics = efa_nics(machine.tree, 100000);
  const Plan backwards = make_plan(machine, nics, {});
  std::ranges::reverse(nics);
  const Plan forwards = make_plan(machine, nics, {});
  ASSERT_EQ(forwards.groups.size(), backwards.groups.size());
  for (std::size_t i = 0; i < forwards.groups.size(); ++i) {
    EXPECT_EQ(forwards.groups[i].name, backwards.groups[i].name);
    EXPECT_EQ(forwards.groups[i].guid, backwards.groups[i].guid);
  }
}

TEST(Plan, EveryNicBelongsToExactlyOneDevice) {
  for (const GoldenScene& golden : golden_scenes()) {
    const Machine machine = machine_of(golden.scene);
    const std::vector<Nic> nics = nics_of(golden.scene, machine);
    const Plan plan = make_plan(machine, nics, golden.scene.settings);
    std::multiset<std::size_t> used(plan.left_out.begin(), plan.left_out.end());
    for (const NicGroup& group : plan.groups) {
      for (const GroupRail& rail : group.rails) used.insert(rail.nic);
    }
    EXPECT_EQ(used.size(), nics.size()) << golden.name;
    for (std::size_t i = 0; i < nics.size(); ++i) EXPECT_EQ(used.count(i), 1U) << golden.name;
  }
}

TEST(Plan, RailsFollowTheFunctionsOfTheirCardsWhereEfaTellsThem) {
  const Machine machine = read_test_machine("p5en.48xlarge");
  std::vector<Nic> nics = efa_nics(machine.tree, 200000);
  // Four functions of two cards under each switch, numbered against the guest's buses.
  for (Nic& nic : nics) {
    const unsigned place = 3 - (nic.pci->bus - 0x55U) % 0x19;
    const unsigned card = (nic.pci->bus & 0xf0U) + place / 2;
    nic.node_guid = 0x0abcdef000000000 | card << 8 | place % 2;
  }
  const Plan plan = make_plan(machine, nics, {});
  EXPECT_EQ(rails_of(plan), Rails(8, 2));
  for (const NicGroup& group : plan.groups) {
    EXPECT_EQ(nics[group.rails[0].nic].node_guid % 2, 0U) << group.name;
    EXPECT_EQ(nics[group.rails[1].nic].node_guid, nics[group.rails[0].nic].node_guid + 1);
    EXPECT_EQ(group.guid, nics[group.leader()].node_guid);
  }
}

TEST(Plan, VerbsDevicesBesideEfaAreLeftOut) {
  const Machine machine = read_test_machine("p6-b200.48xlarge");
  std::vector<Nic> nics = efa_nics(machine.tree, 400000);
  nics.push_back({.name = "ibp115s0", .pci = parse_pci_address("0000:73:00.0")});
  const Plan plan = make_plan(machine, nics, {});
  EXPECT_EQ(rails_of(plan), Rails(8, 1));
  EXPECT_EQ(plan.left_out, (std::vector<std::size_t>{8}));
}

TEST(Plan, NicsWithoutPciAreDevicesInTheCallersOrder) {
  const std::vector<Nic> nics = {{.name = "eth1", .speed_mbps = 25000}, {.name = "eth0"}};
  const Plan plan = make_plan(read_test_machine("p5.48xlarge"), nics, {});
  ASSERT_EQ(rails_of(plan), (Rails{1, 1}));
  EXPECT_EQ(plan.groups[0].name, "eth1");
  EXPECT_EQ(plan.groups[0].speed_mbps, 25000);
  EXPECT_EQ(plan.groups[1].speed_mbps, 10000);
  EXPECT_EQ(plan.groups[1].pci_path, "");
  EXPECT_NE(plan.groups[0].guid, plan.groups[1].guid);
}

TEST(Plan, NicsWithoutPciShareADeviceIfTheyShareANetwork) {
  const std::vector<Nic> nics = {{.name = "a", .network = "10.0.0.0/8", .speed_mbps = 10000},
                                 {.name = "b", .network = "192.168.0.0/16", .speed_mbps = 10000},
                                 {.name = "c", .network = "10.0.0.0/8", .speed_mbps = 10000}};
  const Plan plan = make_plan(Machine{}, nics, {});
  EXPECT_EQ(rails_of(plan), (Rails{2, 1}));
  EXPECT_EQ(plan.groups[0].speed_mbps, 20000);
  EXPECT_EQ(rails_of(make_plan(Machine{}, nics, {.max_rails = 1})), (Rails{1, 1, 1}));
}

TEST(Plan, NicsOfDifferentNetworksAreNoRailsOfOneDevice) {
  const Machine machine = read_test_machine("p5.48xlarge");
  std::vector<Nic> nics = efa_nics(machine.tree, 100000);
  for (Nic& nic : nics) nic.network = nic.pci->bus % 2 == 0 ? "even" : "odd";
  for (const NicGroup& group : make_plan(machine, nics, {}).groups) {
    for (const GroupRail& rail : group.rails) {
      EXPECT_EQ(nics[rail.nic].network, nics[group.leader()].network);
    }
  }
}

TEST(Plan, ANicThatPciDoesNotShowIsADeviceByItself) {
  const std::vector<Nic> nics = {{.name = "rdmap1s0", .pci = PciAddress{0, 1, 0, 0}}};
  const Plan plan = make_plan(Machine{}, nics, {});
  ASSERT_EQ(rails_of(plan), (Rails{1}));
  EXPECT_NE(plan.groups[0].reasons.back().find("0000:01:00.0"), std::string::npos);
}

TEST(Plan, EqualNamesAreMadeUnique) {
  const std::vector<Nic> nics = {{.name = "lo"}, {.name = "lo"}, {.name = "lo"}};
  const Plan plan = make_plan(Machine{}, nics, {});
  EXPECT_EQ(plan.groups[0].name, "lo");
  EXPECT_EQ(plan.groups[1].name, "lo#2");
  EXPECT_EQ(plan.groups[2].name, "lo#3");
}

TEST(Plan, NoNicsMakeNoDevices) {
  EXPECT_TRUE(make_plan(read_test_machine("p5.48xlarge"), {}, {}).groups.empty());
}

TEST(Plan, NicsOfDifferentKindsAreNoRailsOfOneDevice) {
  PciTree tree;
  const int root = tree.add(0, {.kind = NodeKind::kHostBridge});
  tree.add(root, {.address = {0, 0, 1, 0}, .class_id = 0x0302, .vendor = kVendorNvidia});
  tree.add(root, {.address = {0, 0, 2, 0}, .class_id = 0x0207, .vendor = 0x15b3, .device = 1});
  tree.add(root, {.address = {0, 0, 3, 0}, .class_id = 0x0207, .vendor = 0x15b3, .device = 2});
  Machine machine;
  machine.tree = tree;
  const std::vector<Nic> nics = {{.name = "a", .pci = PciAddress{0, 0, 2, 0}},
                                 {.name = "b", .pci = PciAddress{0, 0, 3, 0}}};
  EXPECT_EQ(rails_of(make_plan(machine, nics, {})), (Rails{1, 1}));
}

TEST(Plan, Gb200DropsNicsThatShareNoSwitchWithAGpu) {
  PciTree tree;
  const int near = tree.add(0, {.kind = NodeKind::kHostBridge});
  const int port = tree.add(near, {.kind = NodeKind::kBridge});
  tree.add(port, {.address = {0, 1, 0, 0}, .class_id = 0x0302, .vendor = kVendorNvidia});
  tree.add(port, {.address = {0, 2, 0, 0}, .vendor = kVendorAmazon, .device = 0xefa2});
  const int far = tree.add(0, {.kind = NodeKind::kHostBridge});
  tree.add(far, {.address = {0, 9, 0, 0}, .vendor = kVendorAmazon, .device = 0xefa2});
  Machine machine;
  machine.tree = tree;
  const auto nics = efa_nics(tree, 400000);
  const Plan plan = make_plan(machine, nics, {.instance = "p6e-gb200.36xlarge"});
  EXPECT_EQ(rails_of(plan), (Rails{1}));
  ASSERT_EQ(plan.left_out.size(), 1U);
  EXPECT_EQ(nics[plan.left_out[0]].pci, (PciAddress{0, 9, 0, 0}));
}

TEST(Plan, RailNumbersAreGivenOnlyWhereAllNodesOfTheTypeAgree) {
  const Plan whole = plan_named("p5");
  for (std::size_t i = 0; i < whole.groups.size(); ++i) {
    EXPECT_EQ(whole.groups[i].rail_id, static_cast<int>(i));
  }
  for (const NicGroup& group : plan_named("p5en-14-nics").groups) EXPECT_EQ(group.rail_id, -1);
}

TEST(Plan, HiddenSwitchesCountAsSwitches) {
  for (const NicGroup& group : plan_named("p4d").groups) {
    EXPECT_EQ(group.gpudirect, GpuDirect::kYes);
    for (const GroupGpu& gpu : group.gpus) EXPECT_EQ(gpu.path, Path::kSwitch);
  }
}

}  // namespace
}  // namespace fabrail::topology::testing
