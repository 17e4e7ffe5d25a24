// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Small pieces: text, versions, the file system root, NCCL's files.
#include <gtest/gtest.h>

#include "src/cli/doctor/settings.h"
#include "src/cli/doctor/text.h"
#include "src/cli/doctor/version.h"
#include "tests/doctor/fake_root.h"

namespace fabrail::doctor {
namespace {

using Texts = std::vector<std::string>;

TEST(Text, SplitsAndKeepsEmptyPieces) {
  EXPECT_EQ(split("a::b:", ':'), (Texts{"a", "", "b", ""}));
  EXPECT_TRUE(split("", ':').empty());
  EXPECT_EQ(words("  a\t b "), (Texts{"a", "b"}));
  EXPECT_EQ(lines("a\r\n\nb\n"), (Texts{"a", "", "b"}));
}

TEST(Text, ListsSomeAndCountsTheRest) {
  EXPECT_EQ(list_of({"a", "b", "c"}, 2), "a, b, c");
  EXPECT_EQ(list_of({"a", "b", "c", "d"}, 2), "a, b and 2 more");
}

TEST(Text, ReadsWholeNumbersOnly) {
  EXPECT_EQ(to_number("0x1d0f"), 0x1d0f);
  EXPECT_EQ(to_number("-1"), -1);
  EXPECT_EQ(to_number("12x"), std::nullopt);
  EXPECT_EQ(to_number(""), std::nullopt);
  EXPECT_EQ(to_number("99999999999999999999"), std::nullopt);
}

TEST(Version, ComparesByNumberNotByText) {
  const auto kernel = Version::parse("6.8.0-1027-aws");
  ASSERT_TRUE(kernel.has_value());
  EXPECT_TRUE(kernel->at_least(5, 12));
  EXPECT_TRUE(kernel->at_least(6, 8));
  EXPECT_FALSE(kernel->at_least(6, 10));
  EXPECT_EQ(kernel->text, "6.8.0-1027-aws");
}

TEST(Version, NeedsTwoParts) {
  EXPECT_FALSE(Version::parse("7").has_value());
  EXPECT_FALSE(Version::parse("mismatch").has_value());
  EXPECT_FALSE(Version::parse("").has_value());
  EXPECT_EQ(Version::parse("2.4.0amzn3.0")->parts, (std::array<int, 3>{2, 4, 0}));
}

TEST(Version, UnknownIsNotOlder) {
  EXPECT_FALSE(older_than(std::nullopt, 9, 9));
  EXPECT_TRUE(older_than(Version::parse("1.17.0"), 1, 18));
}

TEST(System, StaysInsideItsRoot) {
  FakeRoot root;
  root.write("/etc/x", "inside\n");
  root.link("/a", "/etc/x");
  root.link("/b", "../../../../../../etc/x");
  root.link("/c/d", "../b");
  for (const char* path : {"/a", "/b", "/c/d", "/c/../etc/./x"}) {
    EXPECT_EQ(root.system().line(path), "inside") << path;
  }
  root.link("/passwd", "/etc/passwd");  // there on the real machine, not in this root
  EXPECT_FALSE(root.system().exists("/passwd"));
}

TEST(System, ReadsBothEndsOfFiles) {
  FakeRoot root;
  root.write("/x", "0123456789");
  EXPECT_EQ(root.system().read("/x", 3), "012");
  EXPECT_EQ(root.system().read_end("/x", 3), "789");
  EXPECT_EQ(root.system().read("/nothing"), std::nullopt);
}

TEST(Settings, EnvironmentWinsOverFilesAndEarlierOverLater) {
  FakeRoot root;
  root.environment = {{"HOME", "/home/u"}, {"NCCL_A", "env"}};
  root.write("/home/u/.nccl.conf", "NCCL_A=home\nNCCL_B=home\n");
  root.write("/etc/nccl.conf", "NCCL_B=etc\nNCCL_C=etc\n");
  const Settings settings = read_settings(root.system());
  EXPECT_EQ(settings.shown("NCCL_A"), "NCCL_A=env");
  EXPECT_EQ(settings.shown("NCCL_B"), "NCCL_B=home (from /home/u/.nccl.conf)");
  EXPECT_EQ(settings.shown("NCCL_C"), "NCCL_C=etc (from /etc/nccl.conf)");
  EXPECT_EQ(settings.value("NCCL_D"), std::nullopt);
}

TEST(Settings, ConfFileVariableReplacesTheHomeFile) {
  FakeRoot root;
  root.environment = {{"HOME", "/home/u"}, {"NCCL_CONF_FILE", "/job.conf"}};
  root.write("/home/u/.nccl.conf", "NCCL_A=home\n");
  root.write("/job.conf", "NCCL_B=job\n");
  const Settings settings = read_settings(root.system());
  EXPECT_EQ(settings.value("NCCL_A"), std::nullopt);
  EXPECT_EQ(settings.value("NCCL_B"), "job");
}

TEST(Settings, KeepsBlanksOfValuesAsNcclDoes) {
  Settings settings;
  add_conf("/f", "NCCL_A= 1 \n", settings);
  EXPECT_EQ(settings.value("NCCL_A"), " 1 ");
  EXPECT_TRUE(settings.is_on("NCCL_A"));
  EXPECT_TRUE(settings.complaints.empty());
}

TEST(Settings, SurvivesAnyBytes) {
  Settings settings;
  std::string text;
  for (int i = 0; i < 4096; ++i) text += static_cast<char>(i * 7);
  add_conf("/f", text, settings);
  EXPECT_LE(settings.complaints.size(), 20u);
}

}  // namespace
}  // namespace fabrail::doctor
