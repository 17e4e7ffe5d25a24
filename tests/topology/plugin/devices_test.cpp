// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The devices that the plugin shows NCCL on every machine of the golden files.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "tests/topology/golden.h"
#include "tests/topology/plugin/run_probe.h"
#include "topology/nccl_xml.h"

namespace fabrail::topology::testing {
namespace {

// The plugin hashes this machine's boot, the golden files a name.
std::string without_hash(const std::string& xml) {
  return std::regex_replace(xml, std::regex("host_hash=\"[^\"]*\""), "host_hash=\"\"");
}

// With all of its GPUs; in a container with some of both, nothing is amiss.
bool lacks_nics(const Scene& scene) {
  const Machine machine = machine_of(scene);
  const InstanceType* type = plan_of(scene).instance;
  return type != nullptr && static_cast<int>(nics_of(scene, machine).size()) < type->nics &&
         static_cast<int>(gpus_of(machine.tree).size()) == type->gpus;
}

class PluginDevices : public ::testing::TestWithParam<GoldenScene> {};

TEST_P(PluginDevices, AreThoseOfThePlan) {
  const Scene& scene = GetParam().scene;
  const Plan plan = plan_of(scene);
  const Seen seen = run_probe(variables_of(scene));
  EXPECT_EQ(seen.status, 0);
  for (const std::string& warning : seen.warnings) {
    EXPECT_NE(warning.find("cannot be used"), std::string::npos) << warning;
    EXPECT_TRUE(lacks_nics(scene)) << warning;
  }
  ASSERT_EQ(seen.devices.size(), plan.groups.size());
  std::set<std::string> names;
  std::set<std::uint64_t> guids;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const SeenDevice& device = seen.devices[i];
    const NicGroup& group = plan.groups[i];
    EXPECT_EQ(device.name + "-rdm", group.name) << "rdmap79s0-rdm is libfabric's name";
    EXPECT_EQ(device.speed_mbps, group.speed_mbps) << device.name;
    EXPECT_EQ(device.latency_us, static_cast<double>(group.latency_us)) << device.name;
    EXPECT_EQ(device.port, 1);
    EXPECT_EQ(device.rail_id, group.rail_id) << device.name;
    EXPECT_EQ(device.plane_id, -1);
    EXPECT_EQ(device.pci_path, group.pci_path);
    EXPECT_TRUE(names.insert(device.name).second) << device.name;
    EXPECT_TRUE(guids.insert(device.guid).second) << device.name;
    const std::string rails = std::to_string(group.rails.size()) + " rail";
    EXPECT_TRUE(
        any_has(seen.info, "device " + std::to_string(i) + ": " + device.name + ", " + rails));
  }
}

TEST_P(PluginDevices, AreDescribedToNcclByTheGoldenFile) {
  const Scene& scene = GetParam().scene;
  const Machine machine = machine_of(scene);
  const NcclXml xml = make_nccl_xml(machine, nics_of(scene, machine), plan_of(scene));
  const Seen seen = run_probe(variables_of(scene));
  EXPECT_EQ(without_hash(seen.file), without_hash(xml.text));
  EXPECT_EQ(value_of(seen, "NCCL_TOPO_FILE").empty(), xml.text.empty());
  EXPECT_TRUE(any_has(seen.info, xml.reason)) << xml.reason;
}

INSTANTIATE_TEST_SUITE_P(Golden, PluginDevices, ::testing::ValuesIn(golden_scenes()),
                         [](const auto& scene) {
                           std::string name = scene.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

Seen p5_with(const Variables& added) {
  Variables variables = variables_of({.machine = "p5.48xlarge"});
  variables.insert(variables.end(), added.begin(), added.end());
  return run_probe(variables);
}

TEST(PluginDevicesOfP5, HaveTheRailsAskedForAndTheSpeedOfTheirNics) {
  for (const SeenDevice& device : p5_with({{"FABRAIL_RAILS", "2"}}).devices) {
    EXPECT_EQ(device.speed_mbps, 200000);
  }
  const Seen more = p5_with({{"FABRAIL_RAILS", "8"}});
  ASSERT_EQ(more.devices.size(), 8U);
  EXPECT_EQ(more.devices[0].speed_mbps, 400000) << "a NIC that stands twice is not twice as fast";
  EXPECT_TRUE(any_has(more.info, "device 0: rdmap79s0, 8 rails"));
}

TEST(PluginDevicesOfP5, AreSplitByMaxRails) {
  EXPECT_EQ(p5_with({{"FABRAIL_MAX_RAILS", "1"}}).devices.size(), 32U);
}

TEST(PluginDevicesOfP5, GoByTheInstanceThatIsNamed) {
  const Seen seen = p5_with({{"FABRAIL_INSTANCE", "p5en.48xlarge"}});
  EXPECT_TRUE(any_has(seen.info, "instance p5en.48xlarge (FABRAIL_INSTANCE says so)"));
  EXPECT_EQ(seen.devices.at(0).latency_us, 35);
}

// Time on a processor, not on the clock: the machine may be busy.
TEST(PluginDevicesOfP5, CostLittleToPlan) {
  const double cpu_ms = p5_with({}).cpu_ms;
  EXPECT_GT(cpu_ms, 0);
#ifndef FABRAIL_TEST_SANITIZED
  EXPECT_LT(cpu_ms, 100);
#endif
}

TEST(PluginDevicesOfP5, AreOnePerNetworkWhenTheMachineCannotBeRead) {
  Variables variables = variables_of({.machine = "p5.48xlarge"});
  variables[0].second = "/nonexistent.xml";
  variables.emplace_back("FABRAIL_INSTANCE", "none");
  const Seen seen = run_probe(variables);
  EXPECT_TRUE(any_has(seen.warnings, "HWLOC_XMLFILE: /nonexistent.xml"));
  ASSERT_EQ(seen.devices.size(), 1U);
  EXPECT_EQ(seen.devices[0].speed_mbps, 3200000);
  EXPECT_EQ(value_of(seen, "NCCL_TOPO_FILE"), "");
}

}  // namespace
}  // namespace fabrail::topology::testing
