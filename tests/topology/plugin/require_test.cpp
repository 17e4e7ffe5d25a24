// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// FABRAIL_REQUIRE: what is met changes nothing, what is not makes NCCL's look at the devices fail.
#include <gtest/gtest.h>

#include "include/nccl_net_abi.h"
#include "tests/topology/plugin/run_probe.h"

namespace fabrail::topology::testing {
namespace {

const Scene kP5{.machine = "p5.48xlarge"};
const Scene kP5enWith14Nics{.machine = "p5en.48xlarge",
                            .not_offered = {"0000:58:00.0", "0000:71:00.0"},
                            .reported_mbps = 200000};

Seen require(const std::string& words, const Scene& scene = kP5, const Variables& added = {}) {
  Variables variables = variables_of(scene);
  variables.emplace_back("FABRAIL_REQUIRE", words);
  variables.insert(variables.end(), added.begin(), added.end());
  return run_probe(variables, "listen");
}

// Device 0 can be looked at, or NCCL takes another network; then comes the error.
void expect_refusal(const Seen& seen, const std::string& reason) {
  EXPECT_EQ(seen.devices.size(), 1U) << "NCCL's loader must find device 0";
  EXPECT_EQ(seen.refused, 1);
  EXPECT_EQ(seen.result, NCCL_NET_INVALID_USAGE);
  EXPECT_EQ(seen.listen, NCCL_NET_INVALID_USAGE);
  EXPECT_TRUE(any_has(seen.warnings, reason))
      << (seen.warnings.empty() ? "no warning" : seen.warnings.back());
}

TEST(Require, ThatIsMetChangesNothing) {
  for (const char* words : {"", "efa", "nics=32", "rails=4", "libfabric>=1.17", "libfabric>=0.99",
                            "efa, nics=32 ,rails=4,libfabric>=1.2"}) {
    const Seen seen = require(words);
    EXPECT_EQ(seen.devices.size(), 8U) << words;
    EXPECT_EQ(seen.refused, -1) << words;
    EXPECT_FALSE(any_has(seen.warnings, "FABRAIL_REQUIRE")) << words;
  }
}

TEST(Require, NamesTheLinkThatIsBroken) {
  const std::string start = "FABRAIL_REQUIRE is not met, so this job ends here: ";
  expect_refusal(require("nics=16", kP5enWith14Nics), start + "nics=16: this process can use 14");
  expect_refusal(require("rails=8"), start + "rails=8: there are 8 devices of 4 rails");
  expect_refusal(require("libfabric>=1.22"),
                 start + "libfabric>=1.22: 1.17 was loaded from " FABRAIL_TEST_LIBFABRIC);
  expect_refusal(require("libfabric>=2.0"), start + "libfabric>=2.0: 1.17 was loaded");
  expect_refusal(require("efa", kP5, {{"FABRAIL_TEST_PROVIDER", "tcp"}}),
                 start + "efa: the provider is tcp (efa: libfabric offers no NIC for it)");
  expect_refusal(require("gdr"), start + "gdr: ");
  expect_refusal(require("dmabuf"), start + "dmabuf: ");
}

TEST(Require, NamesTheFirstBrokenLinkFirst) {
  expect_refusal(require("rails=4,nics=32,efa", kP5,
                         {{"FABRAIL_TEST_PROVIDER", "tcp"}, {"FABRAIL_NICS", "rdmap79s0"}}),
                 "ends here: efa: the provider is tcp (efa: libfabric offers no NIC for it); "
                 "nics=32: this process can use 1 (FABRAIL_NICS is set); rails=4: there are 1 "
                 "device of 1 rail");
}

TEST(Require, OfTheInstanceIsAllThatItsTypeCanDo) {
  const Scene g6{.machine = "g6.48xlarge"};
  EXPECT_EQ(require("instance", g6).refused, -1) << "it has no GPUDirect to require";
  expect_refusal(require("instance", kP5enWith14Nics),
                 "instance (p5en.48xlarge): nics=16: this process can use 14");
  expect_refusal(require("instance"), "instance (p5.48xlarge): gdr: ");
  expect_refusal(require("instance", kP5, {{"FABRAIL_INSTANCE", "none"}}),
                 "instance: this machine is none, of which nothing is known");
}

TEST(Require, IsRefusedWithoutAnyDeviceAsWell) {
  const Seen seen = require("efa", kP5, {{"FABRAIL_LIBFABRIC", "/nonexistent.so"}});
  expect_refusal(seen, "efa: libfabric could not be opened");
  EXPECT_EQ(seen.devices.front().name, "refused");
  expect_refusal(require("libfabric>=1.18", kP5, {{"FABRAIL_LIBFABRIC", "/nonexistent.so"}}),
                 "libfabric>=1.18: none could be opened");
}

// NCCL would take its sockets, which nobody requires anything for.
TEST(Require, OfAnythingIsOfADeviceToo) {
  expect_refusal(require("libfabric>=1.17", kP5, {{"FABRAIL_NICS", "nothing"}}),
                 "ends here: there is no network device");
}

TEST(Require, IsReadStrictly) {
  for (const char* words : {"gpudirect", "efa,", ",efa", "efa,,gdr", "nics", "nics=", "nics=0",
                            "nics=-1", "nics=3x", "rails=", "libfabric", "libfabric>=1",
                            "libfabric>=1.x", "libfabric>1.22", "EFA", "efa gdr"}) {
    expect_refusal(require(words), " is not one of efa, nics=N, rails=N, ");
  }
}

}  // namespace
}  // namespace fabrail::topology::testing
