// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/affinity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace fabrail::topology {
namespace {

PciNode nic_node(std::uint8_t bus) {
  return {.address = {0, bus, 0, 0}, .vendor = kVendorAmazon, .device = 0xefa1};
}
PciNode gpu_node(std::uint8_t bus) {
  return {.address = {0, bus, 0, 0}, .class_id = 0x0302, .vendor = kVendorNvidia};
}

std::vector<NicPlace> places(const PciTree& tree) {
  std::vector<NicPlace> nics;
  for (int i = 0; i < tree.size(); ++i) {
    if (efa_generation(tree.at(i)) > 0) nics.push_back({.nic = nics.size(), .node = i});
  }
  return nics;
}

TEST(Affinity, OrphansUnderOneSwitchStayTogetherInTheUsualSize) {
  PciTree tree;
  const int root = tree.add(0, {.kind = NodeKind::kHostBridge});
  const int other = tree.add(root, {.kind = NodeKind::kBridge});
  for (std::uint8_t bus = 1; bus <= 5; ++bus) tree.add(other, nic_node(bus));
  const Affinity affinity = group_nics(tree, places(tree), {.orphan_rails = 2});
  ASSERT_EQ(affinity.clusters.size(), 3U);
  EXPECT_EQ(affinity.clusters[0].nics.size(), 2U);
  EXPECT_EQ(affinity.clusters[2].nics.size(), 1U);
}

TEST(Affinity, FarGpusAreSpreadOverEqualClusters) {
  PciTree tree;
  for (std::uint8_t bus = 0; bus < 2; ++bus) {
    const int root = tree.add(0, {.kind = NodeKind::kHostBridge});
    tree.add(root, nic_node(static_cast<std::uint8_t>(16 * bus + 1)));
    tree.add(root, gpu_node(static_cast<std::uint8_t>(16 * bus + 2)));
  }
  const int far = tree.add(0, {.kind = NodeKind::kHostBridge});
  tree.add(far, gpu_node(0x81));
  tree.add(far, gpu_node(0x82));
  const Affinity affinity = group_nics(tree, places(tree), {});
  ASSERT_EQ(affinity.clusters.size(), 2U);
  EXPECT_EQ(affinity.clusters[0].gpus.size(), 2U);
  EXPECT_EQ(affinity.clusters[1].gpus.size(), 2U);
}

// Grows a random tree of bridges with NICs and GPUs at any level.
PciTree random_tree(std::mt19937& random) {
  PciTree tree;
  std::vector<int> inner = {0};
  const auto pick = [&](unsigned below) { return static_cast<unsigned>(random()) % below; };
  for (std::uint8_t bus = 1; bus < 60; ++bus) {
    const int parent = inner[pick(static_cast<unsigned>(inner.size()))];
    const NodeKind above = tree.at(parent).kind;
    switch (pick(3)) {
      case 0:
        inner.push_back(tree.add(
            parent,
            {.kind = above == NodeKind::kMachine ? NodeKind::kHostBridge : NodeKind::kBridge,
             .address = {0, bus, 0, 0}}));
        break;
      case 1:
        tree.add(parent, nic_node(bus));
        break;
      default:
        tree.add(parent, gpu_node(bus));
    }
  }
  return tree;
}

TEST(Affinity, OnAnyTreeEachNicIsInOneClusterAndEachGpuHasOne) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const PciTree tree = random_tree(random);
    const std::vector<NicPlace> nics = places(tree);
    const std::size_t max_rails = seed % 4;
    const Affinity affinity = group_nics(tree, nics, {.max_rails = max_rails});
    std::vector<int> uses(nics.size());
    std::vector<int> gpus;
    for (const Cluster& cluster : affinity.clusters) {
      ASSERT_FALSE(cluster.nics.empty());
      if (max_rails > 0) {
        EXPECT_LE(cluster.nics.size(), max_rails);
      }
      for (const NicPlace& nic : cluster.nics) ++uses[nic.nic];
      gpus.insert(gpus.end(), cluster.gpus.begin(), cluster.gpus.end());
    }
    EXPECT_EQ(uses, std::vector<int>(nics.size(), 1));
    for (const int gpu : gpus_of(tree)) {
      EXPECT_EQ(std::ranges::count(gpus, gpu) > 0, !nics.empty());
    }
  }
}

}  // namespace
}  // namespace fabrail::topology
