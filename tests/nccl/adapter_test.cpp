// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Real NCCL's adapters from each older ABI to its own, with the plugin under them.
#include "tests/nccl/nccl_fixture.h"

namespace fabrail::nccl_test {
namespace {

constexpr int kOldestAbi = 6;

class Adapter : public NcclTest {
 protected:
  void check_choice(int abi, const ProbeResult& result) {
    EXPECT_EQ(result.cycle(0).at("network"), network()) << result.story();
    EXPECT_EQ(result.cycle(0).at("abi"), abi) << result.story();
    const bool announced = version() >= 22400 || abi < newest_abi();
    const std::string line =
        "NET/Plugin: Loaded net plugin " + network() + " (v" + std::to_string(abi) + ")";
    EXPECT_EQ(result.lines_with(line), announced ? 1 : 0) << line << "\n" << result.story();
  }

  /// A property that ABI `abi` lacks gets `value` from the adapter, if NCCL has the property at
  /// all.
  static void check_default(const ProbeResult& result, bool lacking, const char* property,
                            int64_t value) {
    const auto& properties = result.report.at("properties");
    if (lacking) {
      EXPECT_EQ(properties.value(property, value), value) << property;
    }
  }

  static void check_defaults(int abi, const ProbeResult& result) {
    check_default(result, abi < 7, "netDeviceType", 0);
    check_default(result, abi < 8, "regIsGlobal", 0);
    check_default(result, abi < 9, "forceFlush", 0);
    check_default(result, abi < 9, "vProps.ndevs", 1);
    check_default(result, abi < 9, "vProps.devs[0]", 0);
    check_default(result, abi < 9, "maxP2pBytes", int64_t{1} << 30);
    check_default(result, abi < 9, "maxCollBytes", int64_t{512} << 20);
    check_default(result, abi < 11, "maxMultiRequestSize", 1);
    check_default(result, abi < 12, "railId", -1);
    check_default(result, abi < 12, "planeId", -1);
  }
};

TEST_P(Adapter, TakesEachAbiAlone) {
  for (int abi = kOldestAbi; abi <= newest_abi(); ++abi) {
    SCOPED_TRACE("only v" + std::to_string(abi));
    const ProbeResult result = run_single_version(abi, {}, {"--loopback"});
    ASSERT_EQ(result.exit_code, 0) << result.story();
    check_choice(abi, result);
    check_defaults(abi, result);
    EXPECT_EQ(result.cycle(0).at("loopback"), "ok") << result.story();
  }
}

TEST_P(Adapter, SurvivesNoDeviceInEachAbi) {
  for (int abi = kOldestAbi; abi <= newest_abi(); ++abi) {
    SCOPED_TRACE("only v" + std::to_string(abi));
    if (abi == 10 && frees_stale_context())
      continue;  // see NcclDefect.FreesTheV10AdaptersConfigTwice
    const ProbeResult result = run_single_version(abi, plugin().without_device);
    ASSERT_EQ(result.exit_code, 0) << result.story();
    EXPECT_EQ(result.cycle(0).at("network"), "Socket") << result.story();
  }
}

INSTANTIATE_NCCL_TEST(Adapter, all_pairs());

}  // namespace
}  // namespace fabrail::nccl_test
