// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Tables of ways to break a healthy machine, each with the one finding that must be its cause.
#pragma once

#include <functional>
#include <vector>

#include "src/cli/doctor/finding.h"
#include "tests/doctor/fake_root.h"

namespace fabrail::doctor {

struct Variant {
  const char* name;
  std::function<void(FakeRoot&)> mutate;
  const char* check;
  Verdict verdict;
  const char* phrase;  ///< stands in the fact
};

const std::vector<Variant>& hardware_variants();
const std::vector<Variant>& limit_variants();
const std::vector<Variant>& plugin_variants();
const std::vector<Variant>& library_variants();
const std::vector<Variant>& environment_variants();

/// Changes after which there is something to know, but nothing to mend.
const std::vector<Variant>& remark_variants();

}  // namespace fabrail::doctor
