// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail perf` as a user runs it, on the reference plugin.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "src/cli/common/socket.h"
#include "tests/cli/command.h"

namespace fabrail::test {
namespace {

using nlohmann::json;

/// `fabrail perf` on the reference plugin, few iterations.
std::vector<std::string> perf(std::vector<std::string> more) {
  std::vector<std::string> arguments{
      FABRAIL_COMMAND, "perf", "--plugin", REFERENCE_PLUGIN, "-n", "20", "-w", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<json> objects_of(const Outcome& outcome) {
  std::vector<json> objects;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) objects.push_back(json::parse(line));
  return objects;
}

TEST(Perf, PrintsATableWithARowForEachSize) {
  const Outcome outcome =
      run(perf({"--ranks", "2", "--test", "bandwidth", "-b", "1K", "-e", "4K"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"plugin Reference, ABI v12", "provider loopback", "rails 1", "GB/s",
                           "        1K", "        2K", "        4K", "# wrong in all: 0"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
}

TEST(Perf, PrintsOneObjectALineWithWhatAppliesToTheTest) {
  const Outcome outcome = run(perf({"--ranks", "4", "--json", "-b", "1K", "-e", "1K"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<std::pair<std::string, std::set<std::string>>> expected{
      {"latency", {"p50_us", "p99_us"}},
      {"bandwidth", {"gbytes_per_s", "msgs_per_s"}},
      {"rate", {"gbytes_per_s", "msgs_per_s"}},
      {"allreduce", {"p50_us", "p99_us", "gbytes_per_s", "busbw_gbytes_per_s"}},
      {"alltoall", {"p50_us", "p99_us", "gbytes_per_s", "busbw_gbytes_per_s"}}};
  const std::vector<json> objects = objects_of(outcome);
  ASSERT_EQ(objects.size(), expected.size());
  for (size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(objects[i]["test"], expected[i].first);
    EXPECT_EQ(objects[i]["size"], expected[i].first == "rate" ? 8 : 1024);
    EXPECT_EQ(objects[i]["ranks"], 4);
    EXPECT_EQ(objects[i]["abi"], 12);
    EXPECT_EQ(objects[i]["provider"], "loopback");
    EXPECT_EQ(objects[i]["rails"], 1);
    EXPECT_EQ(objects[i]["wrong"], 0);
    for (const char* figure :
         {"p50_us", "p99_us", "gbytes_per_s", "msgs_per_s", "busbw_gbytes_per_s"}) {
      EXPECT_EQ(objects[i].contains(figure), expected[i].second.count(figure) == 1)
          << expected[i].first << " " << figure;
    }
  }
}

TEST(Perf, TellsWhatAMessageCost) {
  const Outcome outcome = run(perf({"--json", "--test", "rate"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json object = objects_of(outcome).at(0);
  EXPECT_EQ(object["posts_per_msg"], 1);
  EXPECT_EQ(object["completions_per_msg"], 1);
  EXPECT_EQ(object["control_bytes_per_msg"], 8);
}

class PerfAbi : public testing::TestWithParam<int> {};

TEST_P(PerfAbi, IsDrivenThroughEachTable) {
  const std::string abi = std::to_string(GetParam());
  const Outcome outcome =
      run(perf({"--ranks", "2", "--json", "--abi", abi, "-b", "8", "-e", "1M", "-f", "64"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<json> objects = objects_of(outcome);
  EXPECT_EQ(objects.size(), 4u * 3u + 1u);
  for (const json& object : objects) {
    EXPECT_EQ(object["abi"], GetParam());
    EXPECT_EQ(object["wrong"], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, PerfAbi, testing::Range(6, 13));

TEST(Perf, MovesSlicesOfSeveralRanksAndOddSizes) {
  const Outcome outcome =
      run(perf({"--ranks", "3", "--json", "-n", "3", "-b", "1000003", "--depth", "2"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const json& object : objects_of(outcome)) EXPECT_EQ(object["wrong"], 0) << object;
}

TEST(Perf, WorksWithOneMessageOutstanding) {
  const Outcome outcome = run(perf({"--ranks", "3", "--json", "-b", "8", "--depth", "1"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(objects_of(outcome).size(), 5u);
}

TEST(Perf, MovesEmptyMessages) {
  const Outcome outcome = run(perf({"--ranks", "2", "--json", "-b", "0", "-e", "0"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Perf, CountsACorruptedByteInEveryTest) {
  const Outcome outcome = run(perf({"--ranks", "3", "--json", "--corrupt", "-b", "1K"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("wrong elements"), std::string::npos) << outcome.err;
  const std::vector<json> objects = objects_of(outcome);
  ASSERT_EQ(objects.size(), 5u);
  // One byte in the first message that each receiving rank checks.
  for (const json& object : objects) EXPECT_GE(object["wrong"], 1) << object;
}

TEST(Perf, OmitsTheCheckWhenAsked) {
  const Outcome outcome = run(perf({"--json", "--test", "latency", "-c", "0"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(objects_of(outcome).at(0).contains("wrong"));
}

TEST(Perf, EndsAtOnceWhenARankDies) {
  const Outcome outcome =
      run(perf({"--ranks", "3", "--test", "bandwidth", "-n", "10000"}), {"REFERENCE_FAULT=kill"});
  EXPECT_EQ(outcome.exit_code, 128 + 9);
  EXPECT_NE(outcome.err.find("rank 0 was killed by signal 9"), std::string::npos) << outcome.err;
  EXPECT_FALSE(outcome.left_processes);
}

TEST(Perf, NamesTheStepThatIsStuck) {
  const Outcome outcome = run(perf({"--timeout", "1"}), {"REFERENCE_FAULT=stuck"});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("connecting ranks 0 and 1"), std::string::npos) << outcome.err;
  EXPECT_FALSE(outcome.left_processes);
}

TEST(Perf, SaysThatAPluginHasNoDevice) {
  const Outcome outcome = run(perf({}), {"REFERENCE_FAULT=no_device"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("has no device"), std::string::npos) << outcome.err;
}

TEST(Perf, SaysWhyAPluginDoesNotLoad) {
  const Outcome outcome = run({FABRAIL_COMMAND, "perf", "--plugin", "/nowhere/libnccl-net.so"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("cannot load the plugin: /nowhere/libnccl-net.so"), std::string::npos)
      << outcome.err;
}

TEST(Perf, SaysThatALibraryIsNoPlugin) {
  const Outcome outcome = run({FABRAIL_COMMAND, "perf", "--plugin", "libm.so.6"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("exports no ncclNetPlugin"), std::string::npos) << outcome.err;
}

TEST(Perf, RefusesADeviceThatDoesNotExist) {
  const Outcome outcome = run(perf({"--device", "7"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("--device 7 does not exist"), std::string::npos) << outcome.err;
}

TEST(Perf, RefusesMessagesThatThePluginCannotTake) {
  const Outcome outcome = run(perf({"--test", "bandwidth", "-b", "2G"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("bandwidth of 2G is more than the 1G"), std::string::npos)
      << outcome.err;
}

TEST(Perf, ShowsThePluginsLogWhenVerbose) {
  const Outcome quiet = run(perf({"--test", "latency"}));
  const Outcome verbose = run(perf({"--test", "latency", "-v"}));
  EXPECT_EQ(quiet.err.find("Selected provider"), std::string::npos);
  EXPECT_NE(verbose.err.find("[rank 1] INFO NET/Reference : Selected provider is loopback"),
            std::string::npos);
}

/// A port that was free a moment ago.
std::string free_port() { return std::to_string(cli::Socket::listen("127.0.0.1", 0).local_port()); }

TEST(Perf, IsOneRankOfALaunchedJob) {
  const std::vector<std::string> arguments = perf({"--json", "--test", "allreduce", "-b", "4K"});
  const std::vector<std::string> job{"WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                                     "MASTER_PORT=" + free_port()};
  std::vector<std::string> first = job, second = job;
  first.emplace_back("RANK=0");
  second.emplace_back("RANK=1");
  Command rank_1(arguments, second);
  const Outcome root = run(arguments, first);
  const Outcome other = rank_1.wait();
  ASSERT_EQ(root.exit_code, 0) << root.err;
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(other.out, "");
  EXPECT_EQ(objects_of(root).at(0)["wrong"], 0);
}

TEST(Perf, NoticesTheDeathOfALaunchedRank) {
  const std::vector<std::string> arguments = perf({"--test", "bandwidth", "-n", "1000000"});
  const std::vector<std::string> job{"WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                                     "MASTER_PORT=" + free_port()};
  std::vector<std::string> first = job, second = job;
  first.insert(first.end(), {"RANK=0", "REFERENCE_FAULT=kill"});
  second.emplace_back("RANK=1");
  Command rank_1(arguments, second);
  EXPECT_EQ(run(arguments, first).exit_code, 128 + 9);
  const Outcome survivor = rank_1.wait();
  EXPECT_EQ(survivor.exit_code, 1);
  EXPECT_NE(survivor.err.find("rank 1:"), std::string::npos) << survivor.err;
}

TEST(Perf, RefusesALaunchedJobOfOne) {
  const Outcome outcome = run(perf({}), {"RANK=0", "WORLD_SIZE=1"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("a network needs two"), std::string::npos) << outcome.err;
}

TEST(Perf, TakesTheLastOfRepeatedOptions) {
  const Outcome outcome = run(perf({"--json", "--test", "latency", "-n", "5", "-n", "7"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(objects_of(outcome).at(0)["iterations"], 7);
}

TEST(Perf, RejectsBadOptions) {
  const std::vector<std::vector<std::string>> bad{{"-b", "3X"},        {"--abi", "5"},
                                                  {"--test", "speed"}, {"-b", "16", "-e", "8"},
                                                  {"-c", "2"},         {"--ranks", "1"}};
  for (const auto& options : bad) {
    EXPECT_NE(run(perf(options)).exit_code, 0) << options[0] << " " << options[1];
  }
}

class PerfRaw : public testing::TestWithParam<const char*> {};

TEST_P(PerfRaw, StandsBesideThePluginsFigures) {
  const std::string provider = GetParam();
  // Enough iterations for several rounds in which plugin and raw take turns.
  const Outcome outcome = run(
      perf({"--json", "--raw", "-b", "8", "-e", "64K", "-f", "8192", "--depth", "2", "-n", "100"}),
      {"FABRAIL_PROVIDER=" + provider});
  if (outcome.err.find("cannot load libfabric") != std::string::npos ||
      outcome.err.find("libfabric has no provider") != std::string::npos) {
    GTEST_SKIP() << outcome.err;
  }
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::map<std::string, int> raw_rows;
  for (const json& object : objects_of(outcome)) {
    const bool raw = object.contains("raw");
    const std::string test = object["test"];
    if (raw) {
      ++raw_rows[test];
      EXPECT_EQ(object["provider"].get<std::string>().rfind(provider, 0), 0u) << object;
      EXPECT_FALSE(object.contains("wrong"));
    } else {
      EXPECT_EQ(object.contains("ratio"), test != "allreduce" && test != "alltoall") << object;
      EXPECT_EQ(object["posts_per_msg"], 1) << object;
      EXPECT_EQ(object["wrong"], 0) << object;
    }
  }
  EXPECT_EQ(raw_rows, (std::map<std::string, int>{{"latency", 2}, {"bandwidth", 2}, {"rate", 1}}));
}

INSTANTIATE_TEST_SUITE_P(Providers, PerfRaw, testing::Values("tcp", "shm"));

// tcp's own datagram endpoints, offered since libfabric 1.18, can lose messages.
TEST(PerfOfThePlugin, GoesByRxmWhereTcpIsNamed) {
  const Outcome outcome = run({FABRAIL_COMMAND, "perf", "--ranks", "2", "--json", "--raw", "-n",
                               "20", "-w", "2", "--test", "latency"},
                              {"FABRAIL_PROVIDER=tcp", "FABRAIL_NICS=lo", "FI_TCP_IFACE=lo"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<json> objects = objects_of(outcome);
  ASSERT_EQ(objects.size(), 2u) << "one row for the plugin, one for raw";
  for (const json& object : objects) EXPECT_EQ(object["provider"], "tcp;ofi_rxm") << object;
}

TEST(PerfOfThePlugin, SaysHowManyRailsAreOpen) {
  const Outcome outcome =
      run({FABRAIL_COMMAND, "perf", "--ranks", "2", "--json", "-n", "20", "-w", "2", "--test",
           "latency"},
          {"FABRAIL_PROVIDER=tcp", "FABRAIL_RAILS=4", "FABRAIL_NICS=lo", "FI_TCP_IFACE=lo"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const json& object : objects_of(outcome)) EXPECT_EQ(object["rails"], 4) << object;
}

TEST(PerfOfThePlugin, NamesSettingsThatLeaveNothing) {
  const Outcome outcome = run({FABRAIL_COMMAND, "perf", "--ranks", "2", "-v"},
                              {"FABRAIL_PROVIDER=tcp", "FI_PROVIDER=shm"});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("FI_PROVIDER=shm also applies"), std::string::npos) << outcome.err;
}

TEST(Perf, SaysWhichProvidersWereTried) {
  const Outcome outcome =
      run(perf({"--raw", "--test", "latency"}), {"FABRAIL_PROVIDER=nosuch,neither"});
  if (outcome.err.find("cannot load libfabric") != std::string::npos) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("nosuch, neither"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace fabrail::test
