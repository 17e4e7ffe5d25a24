// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which files NCCL would open, and what is recognised in them; PCI configuration; topology files.
#include <gtest/gtest.h>

#include <cstring>

#include "src/cli/doctor/nccl_topology.h"
#include "src/cli/doctor/pci_layout.h"
#include "src/cli/doctor/software.h"
#include "tests/doctor/fake_root.h"

namespace fabrail::doctor {
namespace {

using Names = std::vector<std::string>;

Names candidates(const char* setting, const char* nccl) {
  const auto value = setting == nullptr ? std::nullopt : std::optional<std::string>(setting);
  return plugin_candidates(value, Version::parse(nccl));
}

TEST(PluginCandidates, FollowTheReleaseOfNccl) {
  const Names plain{"libnccl-net.so"};
  for (const char* nccl : {"2.18.5", "2.20.5", "2.22.3", "2.27.3", "2.27.7", "2.28.9", "2.30.7"}) {
    EXPECT_EQ(candidates(nullptr, nccl), plain) << nccl;
  }
  EXPECT_EQ(candidates("ofi", "2.20.5"), (Names{"libnccl-net-ofi.so"}));
  EXPECT_EQ(candidates("ofi", "2.22.3"), (Names{"ofi", "libnccl-net-ofi.so"}));
  EXPECT_EQ(candidates("/x/libp.so", "2.20.5"), (Names{"libnccl-net-/x/libp.so.so"}));
  EXPECT_EQ(candidates("/x/libp.so", "2.22.3")[0], "/x/libp.so");
  EXPECT_EQ(candidates("/x/libp.so", "2.27.3"), (Names{"libnccl-net-/x/libp.so.so"}));
  EXPECT_EQ(candidates("/x/libp.so", "2.27.5"), (Names{"/x/libp.so"}));
  EXPECT_EQ(candidates("libp.so", "2.27.3"), (Names{"libp.so"}));
  EXPECT_EQ(candidates("a,libb.so", "2.28.9"), (Names{"a", "libnccl-net-a.so", "libb.so"}));
}

TEST(PluginCandidates, NoneAndEmptyDependOnTheRelease) {
  EXPECT_TRUE(candidates("none", "2.28.9").empty());
  EXPECT_TRUE(candidates("NONE", "2.30.4").empty());
  EXPECT_EQ(candidates("none", "2.27.7").size(), 2u);
  EXPECT_TRUE(candidates("", "2.27.5").empty());
  EXPECT_EQ(candidates("", "2.22.3"), (Names{"libnccl-net.so"}));
}

TEST(Software, ReadsVersionsFromFiles) {
  FakeRoot root;
  make_healthy(root);
  use_aws_plugin(root, "1.19.2");
  const System system = root.system();
  const Software software = read_software(system, read_settings(system));
  EXPECT_EQ(software.nccl_version()->text, "2.28.9+cuda12.9");
  EXPECT_EQ(software.libfabric_version()->text, "2.4.0amzn3.0");
  ASSERT_TRUE(software.plugin.has_value());
  EXPECT_EQ(software.plugin->kind, PluginKind::kAwsOfiNccl);
  EXPECT_EQ(software.plugin->version->text, "1.19.2");
  EXPECT_EQ(software.plugin->abi_versions, (std::vector<int>{8, 9, 10, 11}));
  EXPECT_EQ(software.verbs_abi, 59);
  EXPECT_EQ(software.efa_installer->text, "1.48.0");
  EXPECT_TRUE(software.undefined.empty());
}

TEST(Software, DamagedPluginIsNotTaken) {
  FakeRoot root;
  make_healthy(root);
  root.write("/opt/fabrail/lib/libnccl-net-fabrail.so", "\177ELF and no more");
  const System system = root.system();
  const Software software = read_software(system, read_settings(system));
  EXPECT_FALSE(software.plugin.has_value());
  EXPECT_EQ(software.unloadable, (Names{"/opt/fabrail/lib/libnccl-net-fabrail.so"}));
}

TEST(Software, PassesOverAProgramOfThePluginsName) {
  FakeRoot root;
  make_healthy(root);
  LibrarySpec program;
  program.program = true;
  root.library("/opt/fabrail/lib/fabrail", program);
  const System system = root.system();
  const Software software = read_software(system, read_settings(system));
  ASSERT_TRUE(software.plugin.has_value());
  EXPECT_EQ(software.plugin->file.path, "/opt/fabrail/lib/libnccl-net-fabrail.so");
}

TEST(Software, FindsNothingUndefinedInTheCxxLibraryOfThisMachine) {
  const System system = System::below("/", {{"NCCL_NET_PLUGIN", "libstdc++.so.6"}});
  const Software software = read_software(system, read_settings(system));
  ASSERT_TRUE(software.plugin.has_value());
  EXPECT_TRUE(software.stack.missing.empty());
  EXPECT_TRUE(software.stack.gaps.empty());
  EXPECT_TRUE(software.undefined.empty()) << software.undefined.front();
}

std::string config_with_acs(std::uint16_t control) {
  std::string config(4096, '\0');
  const std::uint32_t first = 0x0001 | (0x148u << 20);  // another capability, next at 0x148
  const std::uint32_t acs = 0x000d;
  std::memcpy(config.data() + 0x100, &first, 4);
  std::memcpy(config.data() + 0x148, &acs, 4);
  std::memcpy(config.data() + 0x14e, &control, 2);
  return config;
}

TEST(PciLayout, ReadsAcsControl) {
  EXPECT_TRUE(has_acs_on(config_with_acs(0x1d)));
  EXPECT_FALSE(has_acs_on(config_with_acs(0)));
  EXPECT_FALSE(has_acs_on(std::string(64, '\xff')));  // what others than root may read
  EXPECT_FALSE(has_acs_on(""));
}

TEST(PciLayout, EndsOnCirclesOfCapabilities) {
  std::string config(4096, '\0');
  const std::uint32_t self = 0x0001 | (0x100u << 20);
  std::memcpy(config.data() + 0x100, &self, 4);
  EXPECT_FALSE(has_acs_on(config));
  EXPECT_FALSE(has_acs_on(std::string(4096, '\xff')));
}

TEST(PciLayout, WarnsOfAcsOutsideOfEc2) {
  FakeRoot root;
  make_healthy(root);
  root.write("/sys/devices/virtual/dmi/id/sys_vendor", "Somebody\n");
  root.write("/sys/bus/pci/devices/0000:44:01.0/config", config_with_acs(1));
  const System system = root.system();
  EXPECT_EQ(bridges_with_acs(system, read_hardware(system)), (Names{"0000:44:01.0"}));
}

TEST(PciLayout, FindsRoots) {
  EXPECT_EQ(pci_root_of("/sys/devices/pci0000:44/0000:44:01.0/0000:4f:00.0"), "pci0000:44");
  EXPECT_EQ(pci_root_of("/sys/devices/virtual"), "");
}

TEST(TopologyFile, ReadsGpusOnly) {
  const TopologyFile file = read_topology_file(
      "<?xml version=\"1.0\"?><!-- x --><system version=\"1\"><cpu numaid=\"0\">"
      "<pci busid=\"0000:53:00.0\" class=\"0x030200\" link_speed=\"\"/>"
      "<pci busid=\"0000:4F:00.0\" class=\"0x020000\"/></cpu></system>");
  EXPECT_EQ(file.gpus, (Names{"0000:53:00.0"}));
  EXPECT_EQ(file.elements, 4u);
}

TEST(TopologyFile, SurvivesAnyText) {
  EXPECT_EQ(read_topology_file("<pci class=\"0x03").gpus.size(), 0u);
  EXPECT_LE(read_topology_file("<<<<>>>").elements, 4u);
  EXPECT_EQ(read_topology_file("").elements, 0u);
}

}  // namespace
}  // namespace fabrail::doctor
