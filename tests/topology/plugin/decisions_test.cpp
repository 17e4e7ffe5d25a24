// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the plugin says that it has decided, and what of it is a warning.
#include <gtest/gtest.h>

#include "tests/topology/plugin/run_probe.h"

namespace fabrail::topology::testing {
namespace {

Seen on(const Scene& scene, const Variables& added = {}) {
  Variables variables = variables_of(scene);
  variables.insert(variables.end(), added.begin(), added.end());
  return run_probe(variables);
}

bool decided(const Seen& seen, const std::string& text) {
  return any_has(seen.info, "decided: " + text);
}

TEST(Decisions, AreOneBlockWithReasons) {
  const Seen seen = on({.machine = "p5.48xlarge"});
  EXPECT_TRUE(decided(seen, std::string("fabrail 0.")));
  EXPECT_TRUE(any_has(seen.info, std::string("loaded from ") + FABRAIL_TEST_PLUGIN));
  EXPECT_TRUE(decided(seen, "abi v12: asked for by NCCL 2.30 or newer"));
  EXPECT_TRUE(decided(seen, std::string("libfabric 1.17: loaded from ") + FABRAIL_TEST_LIBFABRIC));
  EXPECT_TRUE(decided(seen, "provider efa: the best that has a usable NIC; not verbs: "));
  EXPECT_TRUE(decided(seen, "nics 32 of 32: p5.48xlarge has 32"));
  EXPECT_TRUE(decided(seen, "rails 8 devices of 4 rails"));
  EXPECT_TRUE(decided(seen, "gpudirect no: "));
  EXPECT_TRUE(decided(seen, "topology /proc/"));
  EXPECT_TRUE(any_has(seen.info, "Selected provider is efa (found 32 nics)")) << "scripts look for";
  EXPECT_TRUE(seen.warnings.empty());
}

TEST(Decisions, WarnOfNicsThatAreMissing) {
  const Seen seen = on({.machine = "p5en.48xlarge",
                        .not_offered = {"0000:58:00.0", "0000:71:00.0"},
                        .reported_mbps = 200000});
  EXPECT_TRUE(any_has(seen.warnings,
                      "nics 14 of 16: p5en.48xlarge has 16, and 2 cannot be used. To mend it: "));
}

TEST(Decisions, DoNotWarnOfWhatTheUserChose) {
  const Seen seen = on({.machine = "p5.48xlarge"}, {{"FABRAIL_NICS", "rdmap79s0"}});
  EXPECT_TRUE(decided(seen, "nics 1 of 32: p5.48xlarge has 32, FABRAIL_NICS leaves some out"));
  EXPECT_TRUE(seen.warnings.empty());
  const Seen tcp = on({.machine = "p5.48xlarge"},
                      {{"FABRAIL_TEST_PROVIDER", "tcp"}, {"FABRAIL_PROVIDER", "tcp"}});
  EXPECT_TRUE(decided(tcp, "provider tcp: FABRAIL_PROVIDER or FI_PROVIDER says so"));
  EXPECT_TRUE(tcp.warnings.empty());
}

TEST(Decisions, ExpectTheNicsOfTheGpusThatAContainerWasGiven) {
  const Seen seen = on({.machine = "p5en.48xlarge",
                        .hidden = {"0000:5a:00.0", "0000:73:00.0", "0000:8c:00.0", "0000:a5:00.0"},
                        .reported_mbps = 200000});
  EXPECT_TRUE(decided(seen, "nics 16 of 16: ")) << "more than its GPUs need";
  EXPECT_TRUE(seen.warnings.empty());
}

TEST(Decisions, WarnOfEfaThatIsNotUsed) {
  const Seen seen = on({.machine = "p5.48xlarge"}, {{"FABRAIL_TEST_PROVIDER", "tcp"}});
  EXPECT_TRUE(any_has(seen.warnings,
                      "provider tcp: p5.48xlarge has EFA, which is not used; not efa: libfabric "
                      "offers no NIC for it"));
  EXPECT_TRUE(any_has(seen.warnings, "To mend it: `fabrail doctor`"));
}

TEST(Decisions, LeaveInstancesWithoutGpudirectAlone) {
  const Seen seen = on({.machine = "g6.48xlarge"});
  EXPECT_TRUE(decided(seen, "gpudirect no: g6.48xlarge has none, nothing to mend"));
}

TEST(Decisions, AreSaidWithoutAnyLibfabric) {
  const Seen seen = on({.machine = "p5.48xlarge"}, {{"FABRAIL_LIBFABRIC", "/nonexistent.so"}});
  EXPECT_TRUE(any_has(seen.warnings, "no network device: "));
  EXPECT_TRUE(decided(seen, "libfabric none"));
  EXPECT_TRUE(decided(seen, "rails no device"));
}

}  // namespace
}  // namespace fabrail::topology::testing
