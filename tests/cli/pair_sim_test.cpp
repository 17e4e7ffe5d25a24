// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail pair` between two emulated EFA nodes, healthy and with one fault each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/cli/common/socket.h"
#include "tests/cli/command.h"

namespace fabrail::test {
namespace {

using nlohmann::json;

struct Network {
  int nics = 2;
  std::string faults = {};  ///< shell commands that use $sim
  std::string options = {};
};

/// Runs one side on each node and gives what the second one has printed.
Outcome pair_on(const Network& network) {
  const std::string place =
      fmt::format("127.0.0.1:{}", cli::Socket::listen("127.0.0.1", 0).local_port());
  const std::string command =
      fmt::format("{} pair --json --large 256K --count 4 {}", FABRAIL_COMMAND, network.options);
  const std::string script = fmt::format(
      "sim={0}\n{{ :\n{1}\n}} >/dev/null\n$sim on 0 -- {2} --listen {3} >/dev/null &\n"
      "$sim on 1 -- {2} {3}\ncode=$?\nwait\nexit $code\n",
      FABRAIL_SIM, network.faults, command, place);
  return run({FABRAIL_SIM, "run", "--instance", "p5en", "--nodes", "2", "--nics",
              std::to_string(network.nics), "--once", "--", "/bin/sh", "-c", script});
}

/// The first problem of a report that must have this exit code.
json first_problem(const Outcome& outcome, int exit_code) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err << outcome.out;
  const json report = json::parse(outcome.out, nullptr, false);
  if (report.is_discarded() || report["findings"].empty()) return {{"check", ""}, {"fact", ""}};
  return report["findings"][0];
}

bool contains(const json& text, const std::string& part) {
  return text.get<std::string>().find(part) != std::string::npos;
}

TEST(PairOnEfa, HealthyNodesReachEachOtherOnEveryPath) {
  const Outcome outcome = pair_on({.nics = 3, .options = "--slow 1 --timeout 60"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["a"]["provider"], "efa");
  ASSERT_EQ(report["a_to_b"].size(), 9u);
  for (const json& path : report["a_to_b"]) EXPECT_GT(path.value("gbits", 0.0), 0.0) << path;
  for (const json& path : report["b_to_a"]) EXPECT_GT(path.value("gbits", 0.0), 0.0) << path;
}

/// Only the slow NIC has a rate: 32 KiB take it more than a second, longer than a busy machine
/// keeps the others waiting.
TEST(PairOnEfa, NamesTheSlowRail) {
  const json problem =
      first_problem(pair_on({.faults = "$sim shape --rate 20KB --node 1 --nic 1",
                             .options = "--large 32K --count 1 --slow 60 --timeout 60"}),
                    1);
  EXPECT_EQ(problem["check"], "pair.slow-rail");
  EXPECT_TRUE(contains(problem["fact"], "rail 1 of B")) << problem;
}

TEST(PairOnEfa, NamesTheRailWhoseLinkIsDown) {
  const json problem = first_problem(pair_on({.nics = 3,
                                              .faults = "$sim break link-down --node 0 --nic 2",
                                              .options = "--slow 1 --timeout 10"}),
                                     2);
  EXPECT_EQ(problem["check"], "pair.dead-rail");
  EXPECT_TRUE(contains(problem["fact"], "dead: rail 2 of A")) << problem;
}

TEST(PairOnEfa, TellsASecurityGroupByErrors) {
  const json problem = first_problem(
      pair_on({.faults = "$sim break fail --status 15", .options = "--timeout 5"}), 2);
  EXPECT_EQ(problem["check"], "pair.blocked");
  EXPECT_TRUE(contains(problem["action"], "security group")) << problem;
  EXPECT_TRUE(contains(problem["fact"], "libfabric says")) << problem;
}

TEST(PairOnEfa, TellsASecurityGroupBySilence) {
  const json problem =
      first_problem(pair_on({.faults = "$sim break stall", .options = "--timeout 3"}), 2);
  EXPECT_EQ(problem["check"], "pair.blocked");
  EXPECT_TRUE(contains(problem["fact"], "in either direction")) << problem;
}

TEST(PairOnEfa, TellsThatOnlySmallMessagesArrive) {
  const json problem = first_problem(pair_on({.nics = 1,
                                              .faults = "$sim break stall --on read,write",
                                              .options = "--slow 1 --timeout 5"}),
                                     2);
  EXPECT_EQ(problem["check"], "pair.large");
}

}  // namespace
}  // namespace fabrail::test
