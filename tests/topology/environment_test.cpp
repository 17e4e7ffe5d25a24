// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/environment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace fabrail::topology {
namespace {

std::map<std::string, std::string> environment_of(const char* type) {
  std::map<std::string, std::string> values;
  for (const Recommendation& row : recommended_environment(find_instance_type(type))) {
    EXPECT_TRUE(values.emplace(row.name, row.value).second) << row.name;
    EXPECT_FALSE(row.reason.empty()) << row.name;
  }
  return values;
}

const std::map<std::string, std::string> kAll = {{"FI_EFA_FORK_SAFE", "1"}};
const std::map<std::string, std::string> kLarge = {
    {"FI_EFA_FORK_SAFE", "1"}, {"NCCL_BUFFSIZE", "8388608"}, {"NCCL_P2P_NET_CHUNKSIZE", "524288"}};

TEST(RecommendedEnvironment, IsThatOfTheType) {
  auto hopper = kLarge;
  hopper.insert({{"NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288"},
                 {"NCCL_NVLS_CHUNKSIZE", "524288"},
                 {"NCCL_NET_FORCE_FLUSH", "0"}});
  auto paired = hopper;
  paired.insert({"NCCL_NETDEVS_POLICY", "max:1"});
  auto copies = kAll;
  copies.insert({"NCCL_SHM_USE_CUDA_MEMCPY", "1"});
  EXPECT_EQ(environment_of("p3dn.24xlarge"), kAll);
  EXPECT_EQ(environment_of("p4d.24xlarge"), kLarge);
  EXPECT_EQ(environment_of("p4de.24xlarge"), kLarge);
  EXPECT_EQ(environment_of("p5.48xlarge"), hopper);
  EXPECT_EQ(environment_of("p5e.48xlarge"), hopper);
  EXPECT_EQ(environment_of("p5en.48xlarge"), paired);
  EXPECT_EQ(environment_of("p6-b200.48xlarge"), paired);
  EXPECT_EQ(environment_of("p6-b300.48xlarge"), hopper);
  EXPECT_EQ(environment_of("g5.48xlarge"), copies);
  EXPECT_EQ(environment_of("g7e.48xlarge"), kLarge);
}

TEST(RecommendedEnvironment, IsEmptyForUnknownMachines) {
  EXPECT_TRUE(recommended_environment(nullptr).empty());
}

}  // namespace
}  // namespace fabrail::topology
