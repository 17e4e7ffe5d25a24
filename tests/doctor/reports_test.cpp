// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// docs/user-reports.md names only checks and tests that exist, and all 57 reports.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {
namespace {

/// The names between backquotes of a cell.
std::vector<std::string> quoted_names(const std::string& cell) {
  std::vector<std::string> names;
  const std::vector<std::string> parts = split(cell, '`');
  for (std::size_t i = 1; i < parts.size(); i += 2) names.push_back(parts[i]);
  return names;
}

/// "Suite.Test" and, for the rows of a table, "Suite/Row".
std::set<std::string> all_tests() {
  std::set<std::string> names;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *unit.GetTestSuite(i);
    const std::string suite_name = suite.name();
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string test = suite.GetTestInfo(j)->name();
      names.insert(suite_name + "." + test);
      names.insert(suite_name.substr(suite_name.find('/') + 1) + "/" +
                   test.substr(test.find('/') + 1));
    }
  }
  return names;
}

TEST(UserReports, NameChecksAndTestsThatExist) {
  std::ifstream file(FABRAIL_DOCS_DIR "/user-reports.md");
  ASSERT_TRUE(file.good());
  std::set<std::string> checks;
  for (const Check& check : all_checks()) checks.emplace(check.id);
  const std::set<std::string> tests = all_tests();
  std::set<std::int64_t> reports;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 7) continue;  // not a row of the first table
    const auto number = to_number(trim(cells[1]));
    if (!number) continue;
    reports.insert(*number);
    const auto found_by = quoted_names(cells[4]);
    EXPECT_FALSE(found_by.empty()) << line;
    for (const std::string& name : found_by) EXPECT_EQ(checks.count(name), 1u) << name;
    const auto shown_by = quoted_names(cells[5]);
    EXPECT_FALSE(shown_by.empty()) << line;
    for (const std::string& name : shown_by) EXPECT_EQ(tests.count(name), 1u) << name;
  }
  EXPECT_EQ(reports.size(), 57u);
}

}  // namespace
}  // namespace fabrail::doctor
