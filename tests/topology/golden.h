// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Golden files: texts that people have read and found right.
#pragma once

#include <string>
#include <vector>

#include "tests/topology/machines.h"

namespace fabrail::topology::testing {

struct GoldenScene {
  const char* name;
  Scene scene;
};

/// The machines and variants whose plans are kept as golden files.
const std::vector<GoldenScene>& golden_scenes();

/// Everything that was decided, as text.
std::string describe(const Plan& plan, const std::vector<Nic>& nics);

/// Compares `text` with golden/NAME, or writes it there if FABRAIL_WRITE_GOLDENS is set.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace fabrail::topology::testing
