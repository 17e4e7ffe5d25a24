// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/nic_speed.h"

#include <gtest/gtest.h>

namespace fabrail::topology {
namespace {

TEST(NicSpeed, BelievesTheNicOnlyWhereItCanBeRight) {
  struct SpeedRow {
    std::int64_t reported;
    int generation;
    const char* instance;
    std::int64_t expected;
    bool said;
  };
  const SpeedRow table[] = {
      {100000, 2, "p5.48xlarge", 100000, false},    // true, and the table agrees
      {0, 2, "p5.48xlarge", 100000, true},          // no rate
      {100000, 3, "p5en.48xlarge", 200000, true},   // an old driver's 100G
      {200000, 3, "p5en.48xlarge", 200000, false},  // a new driver
      {100000, 4, "g7e.8xlarge", 100000, false},    // 100G is this type's rate
      {100000, 1, "g5.8xlarge", 25000, true},       // an old driver's 100G on a small type
      {25000, 1, "g5.8xlarge", 25000, false},
      {0, 4, nullptr, 400000, true},
      {-1, 5, nullptr, 400000, true},  // a generation newer than the table
      {100000, 1, nullptr, 100000, false},
      {0, 0, nullptr, 10000, true},  // another kind of NIC: NCCL's default, said
      {200000, 0, "p5.48xlarge", 200000, false},
  };
  for (const SpeedRow& row : table) {
    const InstanceType* type = row.instance ? find_instance_type(row.instance) : nullptr;
    const NicSpeed speed = nic_speed(row.reported, row.generation, type);
    const std::string name = row.instance ? row.instance : "unknown type";
    EXPECT_EQ(speed.mbps, row.expected) << name << " " << row.reported;
    EXPECT_EQ(!speed.reason.empty(), row.said) << name << " " << row.reported;
  }
}

}  // namespace
}  // namespace fabrail::topology
