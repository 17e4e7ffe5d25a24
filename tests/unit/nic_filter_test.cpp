// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// FABRAIL_NICS.
#include <gtest/gtest.h>

#include "src/fabric/nic.h"

namespace fabrail::fabric {
namespace {

TEST(NicFilter, TakesBeginningsOfNames) {
  EXPECT_TRUE(nic_selected("eth", "eth0"));
  EXPECT_TRUE(nic_selected("lo,rdmap79s0", "rdmap79s0"));
  EXPECT_FALSE(nic_selected("eth", "lo"));
  EXPECT_FALSE(nic_selected("rdmap79s0,", "rdmap80s0")) << "an empty item selects nothing";
}

TEST(NicFilter, LeavesOutWithACaret) {
  EXPECT_FALSE(nic_selected("^eth,lo", "eth0"));
  EXPECT_FALSE(nic_selected("^eth,lo", "lo"));
  EXPECT_TRUE(nic_selected("^eth,lo", "rdmap79s0"));
}

}  // namespace
}  // namespace fabrail::fabric
