// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Tests that run in a process of their own.
#include "tests/conformance/fixtures.h"

#include <fnmatch.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace fabrail::conformance {
namespace {

constexpr const char* kMark = "FABRAIL_CONFORMANCE_OWN_PROCESS";
constexpr int kPatienceSeconds = 600;

std::string abi_list() {
  std::string list;
  for (const int abi : options().abis) list += (list.empty() ? "" : ",") + std::to_string(abi);
  return list;
}

int run_one(const std::string& name, const Environment& environment) {
  const pid_t pid = start_self(
      {"--abi", abi_list(), "--gtest_filter=" + name, "--gtest_brief=1", "--gtest_output="},
      environment);
  return pid < 0 ? -1 : wait_for_exit(pid, kPatienceSeconds);
}

std::string describe(int status) {
  if (status == -1) return "it did not end in time";
  if (WIFSIGNALED(status)) return "it died of signal " + std::to_string(WTERMSIG(status));
  return "see its failures above (exit status " + std::to_string(WEXITSTATUS(status)) + ")";
}

bool matches_any(const std::string& name, const std::string& patterns) {
  std::istringstream list(patterns);
  for (std::string pattern; std::getline(list, pattern, ':');) {
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

// GoogleTest applies its filter only inside RUN_ALL_TESTS: "positive[-negative]", ':' between
// globs.
bool selected(const std::string& name) {
  const std::string filter = GTEST_FLAG_GET(filter);
  const size_t dash = filter.find('-');
  const std::string positive = filter.substr(0, dash);
  const std::string negative = dash == std::string::npos ? "" : filter.substr(dash + 1);
  return (positive.empty() || matches_any(name, positive)) && !matches_any(name, negative);
}

}  // namespace

bool in_own_process(const Environment& environment) {
  const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(test->test_suite_name()) + "." + test->name();
  const char* const mark = std::getenv(kMark);
  if (mark != nullptr && name == mark) return true;
  Environment all = environment;
  all.push_back(std::string(kMark) + "=" + name);
  const int status = run_one(name, all);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkippedStatus) {
    [] { GTEST_SKIP() << "skipped in its own process"; }();
    return false;
  }
  EXPECT_EQ(status, 0) << "in its own process: " << describe(status);
  return false;
}

int run_isolated() {
  int failures = 0;
  auto& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      const std::string name = std::string(suite.name()) + "." + test.name();
      if (!selected(name)) continue;
      const int status = run_one(name, {});
      const bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == kSkippedStatus;
      const bool good = status == 0 || skipped;
      std::printf("%s %s%s%s\n", good ? (skipped ? "SKIPPED" : "OK     ") : "FAILED ", name.c_str(),
                  good ? "" : ": ", good ? "" : describe(status).c_str());
      std::fflush(stdout);
      failures += good ? 0 : 1;
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace fabrail::conformance
