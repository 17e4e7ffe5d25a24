// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// NICs to NCCL devices where nothing is known of the machine; tests/topology/plugin has machines.
#include "plugin/device.h"

#include <gtest/gtest.h>

namespace fabrail::plugin {
namespace {

fabric::Nic nic(const char* name, const char* network, int speed) {
  fabric::Nic result;
  result.name = name;
  result.network = network;
  result.speed_mbps = speed;
  return result;
}

std::vector<fabric::Nic> four_on_two_networks() {
  std::vector<fabric::Nic> nics;
  nics.push_back(nic("a0", "a", 100000));
  nics.push_back(nic("b0", "b", 0));
  nics.push_back(nic("a1", "a", 100000));
  nics.push_back(nic("a2", "a", 100000));
  return nics;
}

struct Limits {
  std::int64_t rails = 0;
  std::int64_t max_rails = 0;
};

std::vector<DevicePlan> devices_of(const std::vector<fabric::Nic>& nics, Limits limits) {
  Config config;
  config.rails = limits.rails;
  config.max_rails = limits.max_rails;
  const topology::Machine machine;
  const auto known = topology_nics(nics, "/nonexistent");
  return plan_devices(nics, plan_topology(machine, known, config), config.rails);
}

TEST(DevicePlan, JoinsTheNicsOfOneNetwork) {
  const auto nics = four_on_two_networks();
  const auto devices = devices_of(nics, {});
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].name, "a0");
  EXPECT_EQ(devices[0].rails.size(), 3u);
  EXPECT_EQ(devices[0].speed_mbps, 300000);
  EXPECT_EQ(devices[1].rails.size(), 1u);
  EXPECT_GE(devices[1].speed_mbps, 1000) << "NCCL cannot plan with an unknown speed";
  EXPECT_NE(devices[0].guid, devices[1].guid);
  EXPECT_EQ(devices[0].rail_id, -1);
}

TEST(DevicePlan, RepeatsOrCutsNicsToTheRailsAskedFor) {
  const auto nics = four_on_two_networks();
  const auto more = devices_of(nics, {.rails = 4});
  ASSERT_EQ(more[0].rails.size(), 4u);
  EXPECT_EQ(more[0].rails[3], more[0].rails[0]);
  EXPECT_EQ(more[0].speed_mbps, 300000) << "a NIC that stands twice is not twice as fast";
  EXPECT_EQ(devices_of(nics, {.rails = 2})[0].speed_mbps, 200000);
}

TEST(DevicePlan, IsSplitByMaxRailsBeforeRailsAreRepeated) {
  const auto nics = four_on_two_networks();
  const auto devices = devices_of(nics, {.rails = 4, .max_rails = 2});
  ASSERT_EQ(devices.size(), 3u);
  for (const DevicePlan& device : devices) EXPECT_EQ(device.rails.size(), 4u);
}

TEST(DevicePlan, HasNoMoreRailsThanTheTransportTakesAndNcclNoMoreDevices) {
  std::vector<fabric::Nic> nics;
  for (int i = 0; i < 40; ++i) nics.push_back(nic("many", "one", 10000));
  for (int i = 0; i < 200; ++i) nics.push_back(nic("own", std::to_string(i).c_str(), 10000));
  const auto devices = devices_of(nics, {});
  ASSERT_EQ(devices.size(), 128u);
  EXPECT_EQ(devices[0].rails.size(), 32u);
  EXPECT_EQ(devices[1].rails.size(), 8u);
}

}  // namespace
}  // namespace fabrail::plugin
