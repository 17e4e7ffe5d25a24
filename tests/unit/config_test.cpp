// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Settings from the environment: values, bounds, complaints, documentation.
#include "src/base/config.h"

#include <gtest/gtest.h>

#include <map>

namespace fabrail {
namespace {

struct Parsed {
  Config config;
  std::vector<std::string> complaints;
};

Parsed parse(const std::map<std::string, std::string>& variables) {
  Parsed parsed;
  parsed.config = parse_config(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      parsed.complaints);
  return parsed;
}

TEST(Config, KeepsDefaultsWhenNothingIsSet) {
  const Parsed parsed = parse({});
  EXPECT_TRUE(parsed.complaints.empty());
  EXPECT_EQ(parsed.config.probe_s, 10);
  EXPECT_EQ(parsed.config.timeout_s, 0);
}

TEST(Config, TakesNumbersAndText) {
  const Parsed parsed =
      parse({{"FABRAIL_RAILS", "4"}, {"FABRAIL_PROVIDER", "tcp"}, {"FABRAIL_PROBE_S", "0"}});
  EXPECT_TRUE(parsed.complaints.empty());
  EXPECT_EQ(parsed.config.rails, 4);
  EXPECT_EQ(parsed.config.provider, "tcp");
  EXPECT_EQ(parsed.config.probe_s, 0);
}

class BadValue : public testing::TestWithParam<const char*> {};

TEST_P(BadValue, IsReportedAndLeavesTheDefaultAndAllElse) {
  const Parsed parsed = parse({{"FABRAIL_RAILS", GetParam()}, {"FABRAIL_TIMEOUT_S", "7"}});
  ASSERT_EQ(parsed.complaints.size(), 1u);
  EXPECT_NE(parsed.complaints[0].find("FABRAIL_RAILS"), std::string::npos);
  EXPECT_NE(parsed.complaints[0].find("0 to 32"), std::string::npos);
  EXPECT_EQ(parsed.config.rails, 0);
  EXPECT_EQ(parsed.config.timeout_s, 7);
}

INSTANTIATE_TEST_SUITE_P(Values, BadValue,
                         testing::Values("", "four", "4x", " 4", "33", "-1", "99999999999999999999",
                                         "0x4"));

TEST(Config, DocumentsEveryParameterOnce) {
  const std::string text = config_markdown();
  for (const Param& param : params()) {
    const std::string row = "| `" + std::string(param.name) + "` |";
    const auto first = text.find(row);
    ASSERT_NE(first, std::string::npos) << param.name;
    EXPECT_EQ(text.find(row, first + 1), std::string::npos) << param.name;
  }
}

}  // namespace
}  // namespace fabrail
