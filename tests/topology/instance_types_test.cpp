// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/instance_types.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fabrail::topology {
namespace {

TEST(InstanceTypes, TotalsAreAwsOwn) {
  const std::pair<const char*, std::int64_t> totals[] = {
      {"p3dn.24xlarge", 100},   {"p4d.24xlarge", 400},      {"p4de.24xlarge", 400},
      {"p5.4xlarge", 100},      {"p5.48xlarge", 3200},      {"p5e.48xlarge", 3200},
      {"p5en.48xlarge", 3200},  {"p6-b200.48xlarge", 3200}, {"p6-b300.48xlarge", 6400},
      {"g4dn.12xlarge", 50},    {"g5.48xlarge", 100},       {"g6.24xlarge", 50},
      {"gr6.8xlarge", 25},      {"g6e.24xlarge", 200},      {"g6e.48xlarge", 400},
      {"g7e.24xlarge", 800},    {"g7e.48xlarge", 1600},     {"trn1.32xlarge", 800},
      {"trn1n.32xlarge", 1600}, {"trn2.48xlarge", 3200}};
  for (const auto& [name, gbps] : totals) {
    const InstanceType* type = find_instance_type(name);
    ASSERT_NE(type, nullptr) << name;
    EXPECT_EQ(type->nics * type->nic_mbps, gbps * 1000) << name;
  }
}

TEST(InstanceTypes, RowsAreConsistent) {
  std::set<std::string> names;
  for (const InstanceType& type : instance_types()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    EXPECT_GT(type.nics, 0) << type.name;
    EXPECT_TRUE(type.rdma_read || !type.rdma_write) << type.name;
    // GPUDirect needs RDMA reads.
    EXPECT_TRUE(type.gpudirect != GpuDirect::kYes || type.rdma_read) << type.name;
    if (type.efa_generation > 0) {
      EXPECT_EQ(type.rdma_write, type.efa_generation >= 2) << type.name;
      EXPECT_LE(type.nic_mbps, usual_efa_mbps(type.efa_generation)) << type.name;
    }
  }
}

TEST(InstanceTypes, UnknownNamesHaveNoRow) {
  EXPECT_EQ(find_instance_type("p5.48xlarge "), nullptr);
  EXPECT_EQ(find_instance_type("p9.metal"), nullptr);
  EXPECT_EQ(find_instance_type(""), nullptr);
}

TEST(DetectInstance, ReadsDmiOnlyOnEc2) {
  EXPECT_EQ(detect_instance({"p5.48xlarge\n", "Amazon EC2\n"}, "").name, "p5.48xlarge");
  EXPECT_EQ(detect_instance({"PowerEdge XE9680", "Dell Inc."}, "").name, "");
  EXPECT_EQ(detect_instance({"HVM domU", "Xen"}, "").name, "");
  EXPECT_EQ(detect_instance({"", "Amazon EC2"}, "").name, "");
  EXPECT_EQ(detect_instance({"", ""}, "").name, "");
}

TEST(DetectInstance, TheSettingWinsOverDmi) {
  const DetectedInstance detected = detect_instance({"p5.48xlarge", "Amazon EC2"}, "p4d.24xlarge");
  EXPECT_EQ(detected.name, "p4d.24xlarge");
  EXPECT_NE(detected.reason.find("FABRAIL_INSTANCE"), std::string::npos);
}

TEST(DetectInstance, KeepsFirmwaresBytesOutOfTheLog) {
  const DetectedInstance detected =
      detect_instance({"p5\x1b[31m" + std::string(200, 'x'), "Amazon EC2"}, "");
  EXPECT_EQ(detected.name.substr(0, 7), "p5?[31m");
  EXPECT_LE(detected.name.size(), 64U);
}

}  // namespace
}  // namespace fabrail::topology
