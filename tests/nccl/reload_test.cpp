// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Communicators come and go in one process: NCCL unloads the plugin, loads it again, or calls
// init() again without either.
#include "tests/nccl/nccl_fixture.h"

namespace fabrail::nccl_test {
namespace {

class Reload : public NcclTest {
 protected:
  // 2.28.3 .. 2.29.7 forget NCCL_NET_PLUGIN when they unload and then look for this name.
  void install_default_name() { scratch().link("libnccl-net.so", plugin().path); }

  void expect_all_cycles_used_plugin(const ProbeResult& result) {
    for (const auto& cycle : result.report.at("cycles")) {
      EXPECT_EQ(cycle.at("network"), network()) << result.story();
      EXPECT_EQ(cycle.at("loopback"), "ok") << result.story();
      EXPECT_EQ(cycle.value("closed", 0), 0) << result.story();
      EXPECT_EQ(cycle.value("closed_previous", 0), 0) << result.story();
    }
  }

  // The first cycle may set up what the process keeps.
  void expect_no_growth(const ProbeResult& result) {
    const auto& second = result.cycle(1);
    const auto& last = result.report.at("cycles").back();
    EXPECT_EQ(last.at("threads"), second.at("threads")) << result.story();
    EXPECT_EQ(last.at("descriptors"), second.at("descriptors")) << result.story();
  }
};

TEST_P(Reload, FindsThePluginFiftyTimesAndLeaksNothing) {
  install_default_name();
  const ProbeResult result = run_by_name({}, {"--cycles", "50", "--loopback"});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  ASSERT_EQ(result.report.at("cycles").size(), 50u);
  expect_all_cycles_used_plugin(result);
  expect_no_growth(result);
  if (version() >= 22800) {
    EXPECT_EQ(result.lines_with("Successfully loaded external"), 50) << result.story();
  }
}

TEST_P(Reload, SurvivesAnotherCommunicatorsEnd) {
  const ProbeResult result = run_by_name({}, {"--cycles", "10", "--loopback", "--overlap"});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  expect_all_cycles_used_plugin(result);
  expect_no_growth(result);
}

TEST_P(Reload, TakesInitAgainWithoutFinalize) {
  // v6 has no finalize. With a reference kept, NCCL 2.28 and newer call its init() once more.
  const ProbeResult result =
      run_single_version(6, {{"NCCL_NET_PLUGIN_REF_COUNT", "1"}}, {"--cycles", "5", "--loopback"});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  expect_all_cycles_used_plugin(result);
  expect_no_growth(result);
}

INSTANTIATE_NCCL_TEST(Reload, all_pairs());

}  // namespace
}  // namespace fabrail::nccl_test
