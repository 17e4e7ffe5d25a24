// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Decisions and requirements about GPU memory, which few machines have; all else is tested through
// the plugin (tests/topology/plugin).
#include "plugin/decisions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plugin/require.h"

namespace fabrail::plugin {
namespace {

Facts p5() {
  Facts facts{.provider = "efa", .nics = 32};
  facts.type = topology::find_instance_type("p5.48xlarge");
  facts.instance = "p5.48xlarge";
  facts.gpus = 8;
  facts.rails = {4, 4, 4, 4, 4, 4, 4, 4};
  return facts;
}

std::string text_of(const Facts& facts, const std::string& name) {
  for (const observe::Decision& decision : decide(facts)) {
    if (decision.name == name) return to_text(decision);
  }
  return {};
}

std::vector<std::string> missing(const std::string& words, const Facts& facts) {
  const auto requirements = parse_requirements(words);
  EXPECT_TRUE(requirements.ok());
  return unmet(requirements.value(), facts);
}

TEST(GpuDirectDecision, IsThePathWithItsReason) {
  Facts facts = p5();
  facts.gpu = {.gpudirect = true, .dmabuf = true, .reason = "dma-buf: a registration worked"};
  EXPECT_EQ(text_of(facts, "gpudirect"), "gpudirect dma-buf: a registration worked");
  EXPECT_TRUE(missing("gdr,dmabuf,instance", facts).empty());
  facts.gpu = {.gpudirect = true, .dmabuf = false, .reason = "peer memory: nvidia_peermem"};
  EXPECT_EQ(missing("gdr,dmabuf,instance", facts),
            std::vector<std::string>{"dmabuf: peer memory: nvidia_peermem"});
  facts.gpu = {.reason = "there is no driver"};
  EXPECT_EQ(text_of(facts, "gpudirect"), "gpudirect no: there is no driver");
  EXPECT_EQ(missing("instance", facts),
            std::vector<std::string>{"instance (p5.48xlarge): gdr: there is no driver"});
}

TEST(GpuDirectDecision, IsNothingToMendWhereTheTypeHasNone) {
  Facts facts = p5();
  facts.type = topology::find_instance_type("g6.48xlarge");
  facts.gpu = {.reason = "the GPU has none"};
  EXPECT_EQ(text_of(facts, "gpudirect"), "gpudirect no: g6.48xlarge has none, nothing to mend");
}

TEST(Decisions, MadeElsewhereAreShownWithTheOthers) {
  Facts facts = p5();
  facts.others = {{.name = "flush", .value = "driver", .reason = "it can", .remedy = {}}};
  EXPECT_EQ(text_of(facts, "flush"), "flush driver: it can");
}

TEST(Decisions, SayWhatWouldMendThem) {
  EXPECT_EQ(to_text(observe::Decision{"nics", "31 of 32", "one is missing", "look", {}}),
            "nics 31 of 32: one is missing. To mend it: look");
}

TEST(ExpectedNics, AreThoseOfTheVisibleGpus) {
  Facts facts = p5();
  for (const auto& [gpus, nics] : {std::pair{8, 32}, {4, 16}, {1, 4}, {0, 32}, {16, 32}}) {
    facts.gpus = gpus;
    EXPECT_EQ(facts.expected_nics(), static_cast<std::size_t>(nics)) << gpus;
  }
  facts.type = nullptr;
  EXPECT_EQ(facts.expected_nics(), 0U);
}

TEST(RailsText, NamesUnevenRails) {
  EXPECT_EQ(rails_text({}), "no device");
  EXPECT_EQ(rails_text({1}), "1 device of 1 rail");
  EXPECT_EQ(rails_text({2, 2}), "2 devices of 2 rails");
  EXPECT_EQ(rails_text({2, 1}), "2 devices of 2, 1 rails");
}

}  // namespace
}  // namespace fabrail::plugin
