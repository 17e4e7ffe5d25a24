// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail pair` as a user runs it, over providers that every machine has.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/cli/common/socket.h"
#include "tests/cli/command.h"

namespace fabrail::test {
namespace {

using nlohmann::json;
using Strings = std::vector<std::string>;

// A busy machine can make any path slow: what is slow here is not asked.
const Strings kQuick{"--large", "64K", "--count", "2", "--slow", "0", "--timeout", "60"};

Strings pair_command(const Strings& more) {
  Strings arguments{FABRAIL_COMMAND, "pair"};
  arguments.insert(arguments.end(), kQuick.begin(), kQuick.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Strings on_loopback(int rails) {
  return {"FABRAIL_PROVIDER=tcp", "FABRAIL_NICS=lo", "FABRAIL_RAILS=" + std::to_string(rails)};
}

Strings operator+(Strings all, const Strings& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// A port that was free a moment ago.
std::string free_port() { return std::to_string(cli::Socket::listen("127.0.0.1", 0).local_port()); }

void expect_all_measured(const json& paths, std::size_t count) {
  ASSERT_EQ(paths.size(), count);
  for (const json& path : paths) {
    EXPECT_EQ(path["reach"], "arrived");
    EXPECT_GT(path.value("gbits", 0.0), 0.0) << path;
    EXPECT_GT(path.value("micros", 0.0), 0.0) << path;
  }
}

TEST(Pair, MeasuresEveryPathBothWaysBetweenLocalProcesses) {
  const Outcome outcome = run(pair_command({"--json"}), on_loopback(3));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  const json report = json::parse(outcome.out);
  expect_all_measured(report["a_to_b"], 9);
  expect_all_measured(report["b_to_a"], 9);
  EXPECT_EQ(report["a"]["rails"][2]["name"], "lo");
  EXPECT_FALSE(outcome.left_processes);
}

TEST(Pair, RunsOverSharedMemory) {
  const Outcome outcome = run(pair_command({"--json"}), {"FABRAIL_PROVIDER=shm"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  expect_all_measured(json::parse(outcome.out)["a_to_b"], 1);
}

TEST(Pair, BothTerminalsShowTheSame) {
  const std::string place = "127.0.0.1:" + free_port();
  Command waiting(pair_command({"--json", "--listen", place}), on_loopback(2));
  const Outcome coming = run(pair_command({"--json", place}), on_loopback(2));
  const Outcome waited = waiting.wait();
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_EQ(coming.exit_code, 0) << coming.err;
  EXPECT_EQ(json::parse(waited.out), json::parse(coming.out));
}

TEST(Pair, RanksOfALauncherReportOnce) {
  const Strings job{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + free_port(), "WORLD_SIZE=2"};
  Command second(pair_command({}), on_loopback(1) + job + Strings{"RANK=1"});
  const Outcome first = run(pair_command({}), on_loopback(1) + job + Strings{"RANK=0"});
  const Outcome other = second.wait();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_NE(first.out.find("A to B: rows are rails of A"), std::string::npos) << first.out;
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(other.out, "");
}

TEST(Pair, SaysOnWhichSideThereAreNoRails) {
  const std::string place = "127.0.0.1:" + free_port();
  Command waiting(pair_command({"--listen", place}), on_loopback(1));
  const Outcome coming = run(pair_command({place}), {"FABRAIL_NICS=no-such-nic"});
  const Outcome waited = waiting.wait();
  EXPECT_EQ(waited.exit_code, 2) << waited.err;
  EXPECT_EQ(coming.exit_code, 2) << coming.err;
  EXPECT_NE(waited.out.find("pair.rails"), std::string::npos) << waited.out;
  EXPECT_NE(waited.out.find("(second process) has no rails"), std::string::npos) << waited.out;
}

TEST(Pair, SaysThatProvidersDiffer) {
  const std::string place = "127.0.0.1:" + free_port();
  Command waiting(pair_command({"--listen", place}), on_loopback(1));
  const Outcome coming = run(pair_command({place}), {"FABRAIL_PROVIDER=shm"});
  EXPECT_EQ(waiting.wait().exit_code, 2);
  EXPECT_EQ(coming.exit_code, 2);
  EXPECT_NE(coming.out.find("pair.provider"), std::string::npos) << coming.out;
}

TEST(Pair, SaysThatRailCountsDiffer) {
  const std::string place = "127.0.0.1:" + free_port();
  Command waiting(pair_command({"--listen", place}), on_loopback(2));
  const Outcome coming = run(pair_command({place}), on_loopback(1));
  EXPECT_EQ(waiting.wait().exit_code, 1);
  EXPECT_EQ(coming.exit_code, 1) << coming.out;
  EXPECT_NE(coming.out.find("pair.rail-count"), std::string::npos) << coming.out;
}

TEST(Pair, GivesUpWhenNobodyComes) {
  const Outcome outcome =
      run(pair_command({"--wait", "1", "--listen", "127.0.0.1:" + free_port()}), on_loopback(1));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("waiting for the other side"), std::string::npos) << outcome.err;
}

TEST(Pair, TakesTwoRanksOnly) {
  const Outcome outcome = run(pair_command({}), {"RANK=0", "WORLD_SIZE=3"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("pair takes two"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace fabrail::test
