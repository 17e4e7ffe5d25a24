// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Finding one's place from the variables of launchers.
#include "src/cli/common/launch.h"

#include <gtest/gtest.h>

#include <map>

#include "src/cli/common/failure.h"

namespace fabrail::cli::perf {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Place> place_in(const Variables& variables) {
  return place_of([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, FindsNothingWithoutALauncher) { EXPECT_FALSE(place_in({{"HOME", "/root"}})); }

TEST(Launch, ReadsTorchrun) {
  const auto place = place_in(
      {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 3);
  EXPECT_EQ(place->ranks, 8);
  EXPECT_EQ(place->address, "node1");
  EXPECT_EQ(place->port, 29500);
}

TEST(Launch, StepsAsideWhenTorchrunsAgentHoldsThePort) {
  const auto place = place_in({{"RANK", "0"},
                               {"WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "node1"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(place->port, 29501);
}

TEST(Launch, ReadsOpenMpiOnOneHost) {
  const auto place = place_in({{"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "2"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                               {"PMIX_NAMESPACE", "prterun-1"}});
  EXPECT_EQ(place->rank, 1);
  EXPECT_EQ(place->address, "127.0.0.1");
}

TEST(Launch, CannotKnowTheHostOfOpenMpiOverSeveral) {
  const auto place = place_in({{"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "4"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(place->address, "");
}

TEST(Launch, PrefersMpirunInsideASlurmJob) {
  const auto place = place_in({{"OMPI_COMM_WORLD_RANK", "5"},
                               {"OMPI_COMM_WORLD_SIZE", "8"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_NTASKS", "2"}});
  EXPECT_EQ(place->rank, 5);
  EXPECT_EQ(place->launcher, "mpirun");
}

TEST(Launch, ReadsThePmiOfMpichAndIntel) {
  const auto place = place_in({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MASTER_ADDR", "a"}});
  EXPECT_EQ(place->rank, 2);
  EXPECT_EQ(place->ranks, 4);
}

TEST(Launch, TakesTheFirstNodeOfASlurmStep) {
  const auto place = place_in({{"SLURM_PROCID", "1"},
                               {"SLURM_STEP_NUM_TASKS", "2"},
                               {"SLURM_NTASKS", "16"},
                               {"SLURM_STEP_NUM_NODES", "2"},
                               {"SLURM_STEP_NODELIST", "gpu[003-004]"},
                               {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}});
  EXPECT_EQ(place->ranks, 2);
  EXPECT_EQ(place->address, "gpu003");
}

TEST(Launch, FallsBackToTheLaunchNodeOfSrun) {
  const auto place = place_in(
      {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}});
  EXPECT_EQ(place->address, "10.0.0.1");
}

TEST(Launch, DerivesOnePortForAllRanksOfAJob) {
  Variables variables{
      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "1"}};
  const uint16_t port = place_in(variables)->port;
  variables["SLURM_PROCID"] = "1";
  EXPECT_EQ(place_in(variables)->port, port);
  variables["SLURM_STEP_ID"] = "2";
  EXPECT_NE(place_in(variables)->port, port);
  EXPECT_GE(port, 20000);
  EXPECT_LT(port, 30000);
}

TEST(Launch, RefusesARankOutsideOfTheJob) {
  EXPECT_THROW(place_in({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), Failure);
  EXPECT_THROW(place_in({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), Failure);
}

TEST(FirstHost, ExpandsSlurmLists) {
  const struct {
    const char* list;
    const char* host;
  } rows[] = {{"node1", "node1"},
              {"node1,node2", "node1"},
              {"gpu[003-007,9],x1", "gpu003"},
              {"gpu[12],x1", "gpu12"},
              {"a,gpu[1-2]", "a"},
              {"n[1,5]-ib,m", "n1-ib"},
              {"broken[1", ""},
              {"", ""}};
  for (const auto& row : rows) EXPECT_EQ(first_host(row.list), row.host) << row.list;
}

TEST(OverrideRendezvous, ReadsHostAndPort) {
  Place place;
  override_rendezvous(place, "[::1]:300");
  EXPECT_EQ(place.address, "::1");
  EXPECT_EQ(place.port, 300);
  for (const char* text : {"host", ":1", "host:", "host:0", "host:65536", "host:1x"}) {
    EXPECT_THROW(override_rendezvous(place, text), Failure) << text;
  }
}

}  // namespace
}  // namespace fabrail::cli::perf
