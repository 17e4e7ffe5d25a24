// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How a process and its rank are named for people.
#include "src/transport/process_identity.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "src/base/job_rank.h"

namespace fabrail::transport {
namespace {

std::string rank_in(const std::map<std::string, std::string>& environment) {
  return job_rank([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(JobRank, IsWhatTheLauncherSays) {
  EXPECT_EQ(rank_in({}), "");
  EXPECT_EQ(rank_in({{"SLURM_PROCID", "12"}}), "12");
  EXPECT_EQ(rank_in({{"SLURM_PROCID", "12"}, {"RANK", "7"}}), "7");
}

TEST(JobRank, IsANumber) {
  for (const char* value : {"", "7x", "-1", " 3", "12345678"})
    EXPECT_EQ(rank_in({{"RANK", value}, {"PMI_RANK", "5"}}), "5") << value;
}

TEST(HostName, HasTheRankBehindIt) {
  const std::string plain = host_name("");
  EXPECT_FALSE(plain.empty());
  EXPECT_EQ(plain.find("rank"), std::string::npos);
  EXPECT_EQ(host_name("7"), plain + ", rank 7");
  EXPECT_LE(host_name("1234567").size(), kMaxNameBytes);
}

}  // namespace
}  // namespace fabrail::transport
