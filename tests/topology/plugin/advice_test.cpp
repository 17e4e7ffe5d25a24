// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the plugin puts into the environment, and what it says about what others put there.
#include <gtest/gtest.h>

#include "tests/topology/plugin/run_probe.h"
#include "tests/topology/temporary.h"

namespace fabrail::topology::testing {
namespace {

Seen probe(const char* machine, const Variables& added = {}, const std::string& words = {}) {
  Variables variables = variables_of({.machine = machine});
  variables.insert(variables.end(), added.begin(), added.end());
  return run_probe(variables, words);
}

TEST(Environment, IsSetForTheTypeAndEachVariableIsSaid) {
  const Seen seen = probe("p5en.48xlarge");
  EXPECT_EQ(value_of(seen, "NCCL_BUFFSIZE"), "8388608");
  EXPECT_EQ(value_of(seen, "NCCL_NETDEVS_POLICY"), "max:1");
  EXPECT_EQ(value_of(seen, "FI_EFA_FORK_SAFE"), "1");
  for (const char* name : {"NCCL_BUFFSIZE=8388608 set", "NCCL_P2P_NET_CHUNKSIZE=524288 set",
                           "NCCL_NETDEVS_POLICY=max:1 set", "FI_EFA_FORK_SAFE=1 set"}) {
    EXPECT_TRUE(any_has(seen.info, name)) << name;
  }
}

TEST(Environment, OfTheUserStays) {
  const Seen seen = probe("p5.48xlarge", {{"NCCL_BUFFSIZE", "4194304"}});
  EXPECT_EQ(value_of(seen, "NCCL_BUFFSIZE"), "4194304");
  EXPECT_TRUE(any_has(seen.info, "NCCL_BUFFSIZE=4194304 was set and stays"));
}

TEST(Environment, KeepsEfaOffSharedMemoryAndSaysSo) {
  const Seen seen = probe("p5.48xlarge", {{"FABRAIL_TUNE_NCCL", "0"}});
  EXPECT_EQ(value_of(seen, "FI_EFA_ENABLE_SHM_TRANSFER"), "0");
  EXPECT_TRUE(any_has(seen.info, "FI_EFA_ENABLE_SHM_TRANSFER=0 set"));
  const Seen own = probe("p5.48xlarge", {{"FI_EFA_ENABLE_SHM_TRANSFER", "1"}});
  EXPECT_EQ(value_of(own, "FI_EFA_ENABLE_SHM_TRANSFER"), "1");
  EXPECT_FALSE(any_has(own.info, "FI_EFA_ENABLE_SHM_TRANSFER"));
}

TEST(Environment, GetsNothingThatLibfabricWouldEndTheProcessFor) {
  const Seen seen = probe("p5.48xlarge", {{"FI_EFA_USE_HUGE_PAGE", "1"}});
  EXPECT_EQ(value_of(seen, "FI_EFA_FORK_SAFE"), "");
  EXPECT_TRUE(any_has(seen.info, "FI_EFA_FORK_SAFE is not set, as FI_EFA_USE_HUGE_PAGE is"));
}

TEST(Environment, IsLeftAloneOnRequest) {
  const Seen seen = probe("p5.48xlarge", {{"FABRAIL_TUNE_NCCL", "0"}});
  EXPECT_EQ(value_of(seen, "NCCL_BUFFSIZE"), "");
  EXPECT_EQ(value_of(seen, "FI_EFA_FORK_SAFE"), "");
  EXPECT_EQ(value_of(seen, "NCCL_TOPO_FILE"), "");
  EXPECT_TRUE(any_has(seen.info, "FABRAIL_TUNE_NCCL=0 keeps NCCL from a topology file"));
  EXPECT_EQ(seen.devices.size(), 8U);
}

TEST(Environment, IsLeftAloneWithoutEfa) {
  Variables variables = variables_of({.machine = "p5.48xlarge"});
  variables[2].second = "eth0@0000:47:00.0@25000";
  const Seen seen = run_probe(variables);
  EXPECT_EQ(seen.devices.size(), 1U);
  EXPECT_EQ(value_of(seen, "NCCL_BUFFSIZE"), "");
  EXPECT_EQ(value_of(seen, "NCCL_TOPO_FILE"), "");
}

TEST(TopologyForNccl, IsTheSameAfterASecondInit) {
  const Seen once = probe("p5.48xlarge");
  const Seen twice = probe("p5.48xlarge", {}, "again");
  EXPECT_NE(once.file, "");
  EXPECT_EQ(twice.file, once.file);
  EXPECT_EQ(twice.devices.size(), once.devices.size());
}

TEST(TopologyForNccl, IsReadByAForkedChild) {
  const std::string file = probe("p5.48xlarge").file;
  EXPECT_NE(file, "");
  EXPECT_EQ(probe("p5.48xlarge", {}, "fork").file, file);
  EXPECT_EQ(probe("p5.48xlarge", {}, "orphan").file, file) << "when the parent has ended";
}

TEST(TopologyForNccl, ThatAParentSetIsReplaced) {
  const Seen seen = probe("p5.48xlarge", {{"NCCL_TOPO_FILE", "/proc/1/fd/7"}});
  EXPECT_NE(seen.file, "");
  EXPECT_TRUE(seen.warnings.empty());
  const Seen none = probe("p6-b200.48xlarge", {{"NCCL_TOPO_FILE", "/proc/1/fd/7"}});
  EXPECT_EQ(value_of(none, "NCCL_TOPO_FILE"), "") << "there NCCL needs no file";
}

TEST(TopologyOfTheUser, StaysAndIsSaidToBeRight) {
  const std::string path = temporary_file("right.xml", probe("p5.48xlarge").file);
  const Seen seen = probe("p5.48xlarge", {{"NCCL_TOPO_FILE", path}});
  EXPECT_EQ(value_of(seen, "NCCL_TOPO_FILE"), path);
  EXPECT_TRUE(seen.warnings.empty());
  EXPECT_TRUE(any_has(seen.info, path + ": checked"));
}

TEST(TopologyOfTheUser, OfAnotherMachineIsReportedByLineAndDevice) {
  const std::string path = temporary_file("other.xml", probe("p5.48xlarge").file);
  const Seen seen = probe("p5en.48xlarge", {{"NCCL_TOPO_FILE", path}});
  EXPECT_EQ(value_of(seen, "NCCL_TOPO_FILE"), path);
  EXPECT_TRUE(any_has(seen.warnings, path + ":4: NIC 0000:4f:00.0 is not a device"));
}

TEST(TopologyOfTheUser, ThatNcclCannotReadIsReported) {
  for (const char* text : {"", "garbage", "<system version=\"1\"><cpu"}) {
    const std::string path = temporary_file("broken.xml", text);
    const Seen seen = probe("p5.48xlarge", {{"NCCL_TOPO_FILE", path}});
    EXPECT_TRUE(any_has(seen.warnings, "NCCL will fail")) << text;
  }
}

TEST(TopologyOfTheUser, ThatIsMissingOrNoFileIsReported) {
  for (const char* path : {"/nonexistent.xml", "/dev/stdin", "/tmp", ""}) {
    const Seen seen = probe("p5.48xlarge", {{"NCCL_TOPO_FILE", path}});
    EXPECT_TRUE(any_has(seen.warnings, "cannot be read")) << path;
    EXPECT_EQ(value_of(seen, "NCCL_TOPO_FILE"), path);
  }
}

TEST(TopologyOfTheUser, WithMuchWrongIsNotAFloodOfWarnings) {
  std::string text = "<system version=\"1\">\n";
  for (int i = 0; i < 100; ++i) text += "<pci/>\n";
  const Seen seen =
      probe("p5.48xlarge", {{"NCCL_TOPO_FILE", temporary_file("much.xml", text + "</system>\n")}});
  EXPECT_EQ(seen.warnings.size(), 9U);
  EXPECT_TRUE(any_has(seen.warnings, "fabrail topo --lint"));
}

}  // namespace
}  // namespace fabrail::topology::testing
