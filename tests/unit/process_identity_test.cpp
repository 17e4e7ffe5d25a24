// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/transport/process_identity.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace fabrail::transport {
namespace {

// Begins without any of the variables by which launchers tell ranks.
class HostName : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
      unsetenv(name);
    }
    plain_ = host_name();
  }
  std::string plain_;
};

TEST_F(HostName, IsAloneWithoutALauncher) {
  EXPECT_FALSE(plain_.empty());
  EXPECT_EQ(plain_.find("rank"), std::string::npos);
}

TEST_F(HostName, NamesTheRankOfTheLauncher) {
  setenv("SLURM_PROCID", "12", 1);
  EXPECT_EQ(host_name(), plain_ + ", rank 12");
  setenv("RANK", "7", 1);
  EXPECT_EQ(host_name(), plain_ + ", rank 7");
}

TEST_F(HostName, TakesNumbersOnly) {
  for (const char* value : {"", "7x", "-1", " 3", "123456789"}) {
    setenv("RANK", value, 1);
    EXPECT_EQ(host_name(), plain_) << value;
  }
}

TEST_F(HostName, FitsIntoAMessageWithItsRank) {
  setenv("RANK", "1234567", 1);
  EXPECT_LE(host_name().size(), kMaxNameBytes);
}

}  // namespace
}  // namespace fabrail::transport
