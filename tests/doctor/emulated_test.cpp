// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail doctor` on machines whose NICs are emulated: silent where all is well.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/command.h"

namespace fabrail::test {
namespace {

/// A shell command on one emulated node whose /sys shows its NICs.
Outcome on_node(const std::string& instance, const std::string& nics, const std::string& command) {
  return run({FABRAIL_SIM, "run", "--mount", "--instance", instance, "--nodes", "1", "--nics", nics,
              "--", "/bin/sh", "-c", command});
}

bool can_show_nics() { return on_node("p5", "0", "true").exit_code == 0; }

/// The job of a user who has installed fabrail: the plugin is beside the command.
std::string doctor_command(const std::string& arguments) {
  return "LD_LIBRARY_PATH=" FABRAIL_PRODUCTS
         ":$LD_LIBRARY_PATH NCCL_NET_PLUGIN=fabrail "
         "NCCL_NET=fabrail " FABRAIL_COMMAND " doctor " +
         arguments;
}

class EmulatedMachine : public testing::TestWithParam<const char*> {};

TEST_P(EmulatedMachine, HealthyOneHasNoProblems) {
  if (!can_show_nics()) GTEST_SKIP() << "fabrail-sim cannot mount here";
  const Outcome outcome = on_node(GetParam(), "0", doctor_command(""));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("EFA NICs are attached"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" offers "), std::string::npos) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(All, EmulatedMachine, testing::Values("p4d", "p5", "p5en", "g6e"),
                         [](const auto& one) { return std::string(one.param); });

TEST(EmulatedMachines, MissingNicsAreNoticed) {
  if (!can_show_nics()) GTEST_SKIP() << "fabrail-sim cannot mount here";
  const Outcome outcome = on_node("p5", "31", doctor_command(""));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("31 of 32 EFA NICs are attached"), std::string::npos) << outcome.out;
}

TEST(EmulatedMachines, SilentWhereItsNicsAreNotShown) {
  const Outcome outcome = run({FABRAIL_SIM, "run", "--instance", "p5", "--nodes", "1", "--",
                               "/bin/sh", "-c", doctor_command("")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace fabrail::test
