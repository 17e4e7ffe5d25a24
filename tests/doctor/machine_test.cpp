// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A healthy machine gives no problem; every broken variant gives the one finding that is its cause.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/report.h"
#include "tests/doctor/fake_root.h"
#include "tests/doctor/variants.h"

namespace fabrail::doctor {

/// How a failure names its row.
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

namespace {

std::string describe(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.verdict >= Verdict::kWarning) text += finding.check + ": " + finding.fact + "\n";
  }
  return text;
}

Findings problems_of(const FakeRoot& root) {
  Findings problems;
  for (Finding& finding : run_checks(survey(root.system()))) {
    if (finding.verdict >= Verdict::kWarning) problems.push_back(std::move(finding));
  }
  return problems;
}

TEST(Machine, HealthyOneHasNoProblems) {
  FakeRoot root;
  make_healthy(root);
  EXPECT_EQ(describe(problems_of(root)), "");
}

TEST(Machine, HealthyOneWithAwsOfiNcclHasNoProblems) {
  FakeRoot root;
  make_healthy(root);
  use_aws_plugin(root, "1.19.2");
  EXPECT_EQ(describe(problems_of(root)), "");
}

TEST(Machine, NeedsNoNetworkInterfacesOfEfa) {
  FakeRoot root;
  make_healthy(root);
  root.remove("/sys/class/net");  // as in a pod: they are in another namespace
  root.write("/sys/class/net/eth0/flags", "0x1003\n");
  EXPECT_EQ(describe(problems_of(root)), "");
}

TEST(Machine, CardsThatSharePortsNeedNotAllBeAttached) {
  FakeRoot root;
  make_software(root);
  make_hardware(root, {"p6e-gb200.36xlarge", 4, 4, "0xefa3"});
  EXPECT_EQ(describe(problems_of(root)), "");
}

TEST(Machine, CapIpcLockLiftsTheLimit) {
  FakeRoot root;
  make_healthy(root);
  root.write("/proc/self/limits", "Max locked memory  65536  65536  bytes\n");
  root.write("/proc/self/status", "CapEff:\t0000000000004000\n");
  EXPECT_EQ(describe(problems_of(root)), "");
}

TEST(Machine, PeerMemoryReplacesDmabuf) {
  FakeRoot root;
  make_healthy(root);
  root.write("/proc/sys/kernel/osrelease", "5.10.100-aws\n");
  root.write(root.system().resolve("/sys/class/infiniband/rdmap80s0/device").value() + "/p2p",
             "NVIDIA\n");
  EXPECT_EQ(describe(problems_of(root)), "");
}

TEST(Machine, ForeignVerbsDeviceThatOpensIsNoProblem) {
  FakeRoot root;
  make_healthy(root);
  add_foreign_device(root);
  EXPECT_EQ(describe(problems_of(root)), "");
}

TEST(Machine, EmulatedNicsNeedNoDriver) {
  FakeRoot root;
  make_software(root);
  make_hardware(root, {"some host", 32, 8, "0xefa1"});
  for (const char* path : {"/sys/module", "/dev/infiniband", "/proc/driver"}) root.remove(path);
  root.write("/proc/self/limits", "Max locked memory  65536  65536  bytes\n");
  root.write("/dev/shm/sim/description", "instance p5.48xlarge\ngeneration efa1\n");
  root.environment["FABRAIL_SIM_DIR"] = "/dev/shm/sim";
  EXPECT_EQ(describe(problems_of(root)), "");
  EXPECT_EQ(survey(root.system()).hardware.product, "p5.48xlarge");
  root.environment.erase("FABRAIL_SIM_DIR");
  EXPECT_NE(describe(problems_of(root)), "");
}

/// Every type of the table with everything attached.
class HealthyTypes : public testing::TestWithParam<topology::InstanceType> {};

TEST_P(HealthyTypes, HaveNoProblems) {
  const topology::InstanceType& type = GetParam();
  FakeRoot root;
  make_software(root);
  make_hardware(root, {std::string(type.name), type.nics, type.gpus,
                       fmt::format("0xefa{}", std::max(type.efa_generation, 1) - 1)});
  EXPECT_EQ(describe(problems_of(root)), "");
}

INSTANTIATE_TEST_SUITE_P(All, HealthyTypes,
                         testing::ValuesIn(topology::instance_types().begin(),
                                           topology::instance_types().end()),
                         [](const auto& one) {
                           std::string name(one.param.name);
                           for (char& letter : name) {
                             if (letter == '.' || letter == '-') letter = '_';
                           }
                           return name;
                         });

std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  for (const auto& some : {hardware_variants(), limit_variants(), plugin_variants(),
                           library_variants(), environment_variants()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

class BrokenMachine : public testing::TestWithParam<Variant> {};

TEST_P(BrokenMachine, GivesExactlyItsCause) {
  const Variant& variant = GetParam();
  FakeRoot root;
  make_healthy(root);
  variant.mutate(root);
  const Findings problems = problems_of(root);
  ASSERT_EQ(problems.size(), 1u) << describe(problems);
  EXPECT_EQ(problems[0].check, variant.check) << describe(problems);
  EXPECT_EQ(problems[0].verdict, variant.verdict);
  EXPECT_NE(problems[0].fact.find(variant.phrase), std::string::npos) << problems[0].fact;
  EXPECT_FALSE(problems[0].why.empty());
  EXPECT_FALSE(problems[0].action.empty());
  EXPECT_EQ(exit_code(problems), variant.verdict == Verdict::kBroken ? 2 : 1);
}

INSTANTIATE_TEST_SUITE_P(All, BrokenMachine, testing::ValuesIn(all_variants()),
                         [](const auto& one) { return std::string(one.param.name); });

class Remark : public testing::TestWithParam<Variant> {};

TEST_P(Remark, IsMadeWithoutAnAlarm) {
  const Variant& variant = GetParam();
  FakeRoot root;
  make_healthy(root);
  variant.mutate(root);
  EXPECT_EQ(describe(problems_of(root)), "");
  std::string remarks;
  for (const Finding& finding : run_checks(survey(root.system()))) {
    if (finding.check == variant.check && finding.verdict == variant.verdict) {
      remarks += finding.fact;
    }
  }
  EXPECT_NE(remarks.find(variant.phrase), std::string::npos) << remarks;
}

INSTANTIATE_TEST_SUITE_P(All, Remark, testing::ValuesIn(remark_variants()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace fabrail::doctor
