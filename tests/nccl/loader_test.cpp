// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Real NCCL's loader takes the plugin: which ABI, which log lines, which properties, when not.
#include <cctype>

#include "tests/nccl/nccl_fixture.h"

namespace fabrail::nccl_test {
namespace {

TEST(Nccl, IsThereToTestWith) {
  if (find_libraries().empty()) {
    GTEST_SKIP() << "no libnccl.so.2 in " FABRAIL_NCCL_DIR
                    " nor installed: run tests/nccl/fetch_nccl to test with real NCCL";
  }
}

class Loader : public NcclTest {};

TEST_P(Loader, TakesTheNewestAbiThatNcclKnows) {
  const ProbeResult result = run_by_name({});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  EXPECT_EQ(result.cycle(0).at("result"), 0) << result.story();
  EXPECT_EQ(result.cycle(0).at("network"), network()) << result.story();
  EXPECT_EQ(result.cycle(0).at("abi"), newest_abi()) << result.story();
  EXPECT_GE(result.report.at("devices"), 1);
}

TEST_P(Loader, SaysWhatItLoaded) {
  const ProbeResult result = run_by_name({});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  struct Line {
    int since;
    int before;
    std::string text;
  };
  const std::string abi = " (v" + std::to_string(newest_abi()) + ")";
  const Line lines[] = {
      // From 2.28 on NCCL says this too, but only when it has a CUDA device.
      {21800, 22800, "NCCL INFO Using network " + network()},
      {22400, 99999, "NET/Plugin: Loaded net plugin " + network() + abi},
      {22700, 99999, "Initialized NET plugin " + network()},
      {22700, 99999, "Assigned NET plugin " + network() + " to comm"},
      {22800, 99999, "Successfully loaded external network plugin " + scratch().path().string()},
  };
  for (const Line& line : lines) {
    const bool expected = line.since <= version() && version() < line.before;
    EXPECT_EQ(result.lines_with(line.text), expected ? 1 : 0) << line.text << "\n"
                                                              << result.story();
  }
}

TEST_P(Loader, GetsEveryPropertyOfTheDevice) {
  const ProbeResult result = run_by_name({});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  EXPECT_EQ(result.report.at("unwritten"), nlohmann::json::array()) << result.story();
  const auto& properties = result.report.at("properties");
  EXPECT_FALSE(properties.at("name").get<std::string>().empty());
  EXPECT_GE(properties.at("speed"), 1000) << properties;
  EXPECT_GE(properties.at("maxRecvs"), 1) << properties;
  EXPECT_GT(properties.at("maxComms"), 0) << properties;
  EXPECT_EQ(properties.value("netDeviceType", 0), 0) << properties;
  EXPECT_EQ(properties.value("netDeviceVersion", 0), 0) << properties;
  EXPECT_EQ(properties.value("vProps.ndevs", 1), 1) << properties;
  EXPECT_EQ(properties.value("vProps.devs[0]", 0), 0) << properties;
  constexpr int64_t kTebibyte = int64_t{1} << 40;
  EXPECT_GT(properties.value("maxP2pBytes", int64_t{1}), 0) << properties;
  EXPECT_LE(properties.value("maxP2pBytes", int64_t{1}), kTebibyte) << properties;
}

TEST_P(Loader, MovesDataThroughTheTableItTook) {
  const ProbeResult result = run_by_name({}, {"--loopback"});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  EXPECT_EQ(result.cycle(0).at("network"), network()) << result.story();
  EXPECT_EQ(result.cycle(0).at("loopback"), "ok") << result.story();
}

std::string with_case_swapped(std::string text) {
  for (char& c : text) {
    const auto letter = static_cast<unsigned char>(c);
    c = static_cast<char>(std::isupper(letter) != 0 ? std::tolower(letter) : std::toupper(letter));
  }
  return text;
}

TEST_P(Loader, MatchesNcclNetInAnyCase) {
  const ProbeResult result = run_by_name({{"NCCL_NET", with_case_swapped(network())}});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  EXPECT_EQ(result.cycle(0).at("result"), 0) << result.story();
  EXPECT_EQ(result.cycle(0).at("network"), network()) << result.story();
}

TEST_P(Loader, RefusesTheJobWhenNcclNetNamesAnotherNetwork) {
  const ProbeResult result = run_by_name({{"NCCL_NET", "nosuchnetwork"}});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  EXPECT_EQ(result.cycle(0).at("result"), 5) << result.story();
  EXPECT_EQ(result.cycle(0).at("network"), "") << result.story();
}

TEST_P(Loader, TakesSocketWhenThePluginHasNoDevice) {
  const ProbeResult result = run_by_name(plugin().without_device);
  ASSERT_EQ(result.exit_code, 0) << result.story();
  EXPECT_EQ(result.cycle(0).at("result"), 0) << result.story();
  EXPECT_EQ(result.cycle(0).at("network"), "Socket") << result.story();
}

INSTANTIATE_NCCL_TEST(Loader, all_pairs());

class PinnedName : public NcclTest {};

TEST_P(PinnedName, IsAnsweredTo) {
  for (const char* name : {"AWS Libfabric", "aws libfabric", "Libfabric", "OFI", "ofi"}) {
    const ProbeResult result = run_by_name({{"NCCL_NET", name}}, {"--loopback"});
    ASSERT_EQ(result.exit_code, 0) << result.story();
    EXPECT_STRCASEEQ(result.cycle(0).at("network").get<std::string>().c_str(), name)
        << result.story();
    EXPECT_EQ(result.cycle(0).value("loopback", ""), "ok") << result.story();
  }
}

INSTANTIATE_NCCL_TEST(PinnedName, pairs_with("fabrail"));

class Requirement : public NcclTest {};

// NCCL's look at all devices comes later, from topology detection, which every release ends with
// the error of getProperties.
TEST_P(Requirement, ThatIsNotMetLeavesNcclNoOtherNetwork) {
  for (const char* library : {"", "/nonexistent.so"}) {
    Environment environment{{"FABRAIL_REQUIRE", "efa"}};
    if (library[0] != '\0') environment["FABRAIL_LIBFABRIC"] = library;
    const ProbeResult result = run_by_name(environment);
    ASSERT_EQ(result.exit_code, 0) << result.story();
    EXPECT_EQ(result.cycle(0).at("result"), 0) << result.story();
    EXPECT_EQ(result.cycle(0).at("network"), network()) << result.story();
    EXPECT_GE(result.report.at("devices"), 2) << result.story();
    EXPECT_GE(result.lines_with("FABRAIL_REQUIRE is not met, so this job ends here: efa: "), 1)
        << result.story();
  }
}

INSTANTIATE_NCCL_TEST(Requirement, pairs_with("fabrail"));

}  // namespace
}  // namespace fabrail::nccl_test
