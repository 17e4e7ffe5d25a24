// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which variables would end the process, by libfabric's version, their value and the machine; and
// what the plugin does about them. That libfabric does end it: tests/topology/plugin.
#include "plugin/fatal_settings.h"

#include <gtest/gtest.h>
#include <rdma/fabric.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace fabrail::plugin {
namespace {

using Variables = std::map<std::string, std::string>;
using Names = std::vector<std::string>;

constexpr std::uint32_t kOld = FI_VERSION(1, 17);
constexpr std::uint32_t kNew = FI_VERSION(2, 1);

Environment environment_of(const Variables& variables) {
  return [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

fabric::MachineAnswers machine(std::optional<bool> reads, std::optional<bool> fork_is_safe) {
  return {.reads_by_rdma = [=] { return reads; }, .fork_is_safe = [=] { return fork_is_safe; }};
}

Names fatal(std::uint32_t version, const Variables& variables,
            const fabric::MachineAnswers& answers = {}) {
  Names names;
  for (const auto& setting : fabric::fatal_settings(version, environment_of(variables), answers)) {
    names.emplace_back(setting.name);
  }
  return names;
}

bool is_fatal(std::uint32_t version, const char* name, const char* value,
              const fabric::MachineAnswers& answers = {}) {
  return !fatal(version, {{name, value}}, answers).empty();
}

TEST(FatalSettings, AreNoneWhereNothingIsSet) { EXPECT_EQ(fatal(kNew, {}), Names{}); }

TEST(FatalSettings, ThatWereRemovedAreFatalFromThatVersionOn) {
  const char* mtu = "FI_EFA_MTU_SIZE";
  EXPECT_FALSE(is_fatal(kOld, mtu, "8928"));
  EXPECT_TRUE(is_fatal(FI_VERSION(1, 18), mtu, "8928"));
  EXPECT_TRUE(is_fatal(kNew, mtu, ""));
  for (const char* limit : {"FI_EFA_TX_IOV_LIMIT", "FI_EFA_RX_IOV_LIMIT"}) {
    EXPECT_FALSE(is_fatal(FI_VERSION(1, 18), limit, "4")) << limit;
    EXPECT_TRUE(is_fatal(FI_VERSION(1, 19), limit, "4")) << limit;
    EXPECT_TRUE(is_fatal(kNew, limit, "4")) << limit;
  }
}

TEST(FatalSettings, OfOldVersionsMayBeHarmlessInNewOnes) {
  const char* medium = "FI_EFA_SHM_MAX_MEDIUM_SIZE";
  EXPECT_TRUE(is_fatal(kOld, medium, "1"));
  EXPECT_TRUE(is_fatal(FI_VERSION(1, 19), medium, "1"));
  EXPECT_FALSE(is_fatal(FI_VERSION(1, 20), medium, "1"));
}

TEST(FatalSettings, HaveNumbersBelowOneAndWhatIsNoNumber) {
  for (const char* value : {"0", "-1", "", "many"}) {
    EXPECT_TRUE(is_fatal(kNew, "FI_EFA_TX_MIN_CREDITS", value)) << value;
  }
  for (const char* value : {"1", "32", "0x20"}) {
    EXPECT_FALSE(is_fatal(kNew, "FI_EFA_TX_MIN_CREDITS", value)) << value;
  }
  EXPECT_FALSE(is_fatal(kOld, "FI_EFA_TX_MIN_CREDITS", "0"));
}

TEST(FatalSettings, HaveAReceiveWindowBelowTheDefaultOfOldVersions) {
  for (const char* value : {"0", "-1", "", "3", "16383"}) {
    EXPECT_TRUE(is_fatal(kOld, "FI_EFA_RECVWIN_SIZE", value)) << value;
    EXPECT_FALSE(is_fatal(kNew, "FI_EFA_RECVWIN_SIZE", value)) << value;
  }
  EXPECT_FALSE(is_fatal(kOld, "FI_EFA_RECVWIN_SIZE", "16384"));
  EXPECT_FALSE(is_fatal(kOld, "FI_EFA_RECVWIN_SIZE", "32768"));
}

TEST(FatalSettings, HaveAnEmptyListOfNics) {
  EXPECT_TRUE(is_fatal(kNew, "FI_EFA_IFACE", ""));
  EXPECT_FALSE(is_fatal(kNew, "FI_EFA_IFACE", "all"));
  EXPECT_FALSE(is_fatal(FI_VERSION(1, 22), "FI_EFA_IFACE", ""));
}

constexpr const char* kDeviceRdma = "FI_EFA_USE_DEVICE_RDMA";

TEST(FatalSettings, AskForRdmaOnlyWhereNicsCannotRead) {
  for (const auto version : std::array<std::uint32_t, 3>{kOld, FI_VERSION(1, 18), kNew}) {
    EXPECT_TRUE(is_fatal(version, kDeviceRdma, "1", machine(false, {})));
    EXPECT_FALSE(is_fatal(version, kDeviceRdma, "1", machine(true, {})));
    EXPECT_FALSE(is_fatal(version, kDeviceRdma, "1", machine({}, {}))) << "nobody knows";
    EXPECT_FALSE(is_fatal(version, kDeviceRdma, "0", machine(false, {})));
  }
}

TEST(FatalSettings, ReadRdmaAsTheVersionDoes) {
  const auto cannot = machine(false, {});
  const auto can = machine(true, {});
  for (const char* yes : {"true", "Yes", "ON"}) {
    EXPECT_TRUE(is_fatal(kNew, kDeviceRdma, yes, cannot)) << yes;
    EXPECT_FALSE(is_fatal(kNew, kDeviceRdma, yes, can)) << yes;
    EXPECT_FALSE(is_fatal(kOld, kDeviceRdma, yes, cannot)) << yes << " is 0 for 1.17";
  }
  for (const char* no : {"false", "No", "OFF"}) {
    EXPECT_FALSE(is_fatal(kNew, kDeviceRdma, no, cannot)) << no;
  }
  for (const char* neither : {"2", "", "enable"}) {
    EXPECT_TRUE(is_fatal(kNew, kDeviceRdma, neither, can)) << neither;
    EXPECT_FALSE(is_fatal(kOld, kDeviceRdma, neither, can)) << neither;
  }
  EXPECT_TRUE(is_fatal(kOld, kDeviceRdma, "2", cannot));
}

TEST(FatalSettings, OpenNoNicUnlessRdmaIsAskedFor) {
  int looks = 0;
  fabric::MachineAnswers counting;
  counting.reads_by_rdma = [&] {
    ++looks;
    return std::optional(false);
  };
  fatal(kNew, {{kDeviceRdma, "0"}, {"FI_EFA_MTU_SIZE", "8928"}}, counting);
  EXPECT_EQ(looks, 0);
  fatal(kNew, {{kDeviceRdma, "1"}}, counting);
  EXPECT_EQ(looks, 1);
}

TEST(FatalSettings, HaveHugePagesWithForkSafetyOnOldKernels) {
  const Names huge = {"FI_EFA_USE_HUGE_PAGE"};
  const auto old_kernel = machine({}, false);
  Variables both = {{"FI_EFA_USE_HUGE_PAGE", "1"}, {"FI_EFA_FORK_SAFE", "1"}};
  EXPECT_EQ(fatal(kNew, both, old_kernel), huge);
  EXPECT_EQ(fatal(kNew, both, machine({}, {})), huge) << "nobody knows, and it costs little";
  EXPECT_EQ(fatal(kNew, both, machine({}, true)), Names{});
  EXPECT_EQ(fatal(FI_VERSION(1, 18), both, old_kernel), Names{});
  both["FI_EFA_FORK_SAFE"] = "0";
  EXPECT_EQ(fatal(kNew, both, old_kernel), Names{});
  both["RDMAV_FORK_SAFE"] = "0";  // on, as it is set
  EXPECT_EQ(fatal(kNew, both, old_kernel), huge);
  both["FI_EFA_USE_HUGE_PAGE"] = "0";
  EXPECT_EQ(fatal(kNew, both, old_kernel), Names{});
}

// The log's callback has no argument of ours.
std::vector<std::string>& warnings() {
  static std::vector<std::string> lines;
  return lines;
}

void log(nccl_net_log_level_t level, unsigned long, const char*, int, const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (level == NCCL_NET_LOG_WARN) warnings().emplace_back(line);
}

TEST(FatalSettings, AreRemovedEachWithAWarning) {
  Variables variables = {
      {"FI_EFA_MTU_SIZE", "8928"}, {"FI_EFA_USE_DEVICE_RDMA", "1"}, {"FI_EFA_TX_SIZE", "64"}};
  const ProcessEnvironment environment{.get = environment_of(variables),
                                       .set = [&](const char* name, const char* value) {
                                         ASSERT_EQ(value, nullptr);
                                         variables.erase(name);
                                       }};
  Logger logger;
  logger.set_sink(log);
  warnings().clear();
  remove_fatal_settings(kNew, machine(false, {}), environment, logger);
  EXPECT_EQ(variables, (Variables{{"FI_EFA_TX_SIZE", "64"}}));
  ASSERT_EQ(warnings().size(), 2u);
  for (const char* part : {"FI_EFA_MTU_SIZE=8928 is ignored here", "libfabric 2.1 would end",
                           "no longer has this setting", "Unset it"}) {
    EXPECT_NE(warnings()[0].find(part), std::string::npos) << warnings()[0];
  }
  EXPECT_NE(warnings()[1].find("FI_EFA_USE_DEVICE_RDMA=1"), std::string::npos) << warnings()[1];
}

}  // namespace
}  // namespace fabrail::plugin
