// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What is decided on each machine, compared with what was decided before.
#include <gtest/gtest.h>

#include "tests/topology/golden.h"
#include "topology/nccl_lint.h"
#include "topology/nccl_xml.h"

namespace fabrail::topology::testing {
namespace {

class Golden : public ::testing::TestWithParam<GoldenScene> {};

TEST_P(Golden, PlanIsTheOneThatWasRead) {
  const Scene& scene = GetParam().scene;
  const Machine machine = machine_of(scene);
  const std::vector<Nic> nics = nics_of(scene, machine);
  expect_golden(std::string(GetParam().name) + ".plan.txt",
                describe(make_plan(machine, nics, scene.settings), nics));
}

TEST_P(Golden, NcclXmlIsTheOneThatWasRead) {
  const Scene& scene = GetParam().scene;
  const Machine machine = machine_of(scene);
  const std::vector<Nic> nics = nics_of(scene, machine);
  const Plan plan = make_plan(machine, nics, scene.settings);
  const NcclXml xml = make_nccl_xml(machine, nics, plan);
  expect_golden(std::string(GetParam().name) + ".nccl.xml",
                xml.text.empty() ? "<!-- none: " + xml.reason + " -->\n" : xml.text);
  EXPECT_FALSE(xml.reason.empty());
  if (xml.text.empty()) return;
  for (const Finding& finding : lint_nccl_xml(xml.text, visible_devices(machine, nics, plan))) {
    ADD_FAILURE() << finding.line << ": " << finding.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Golden, ::testing::ValuesIn(golden_scenes()),
                         [](const auto& scene) {
                           std::string name = scene.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace fabrail::topology::testing
