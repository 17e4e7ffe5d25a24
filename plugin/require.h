// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// FABRAIL_REQUIRE: what a job insists on. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/decisions.h"
#include "src/base/result.h"

namespace fabrail::plugin {

/// In the order in which the chain goes: what breaks first is named first.
enum class Required : std::uint8_t {
  kLibfabric,  ///< libfabric>=MAJOR.MINOR
  kInstance,   ///< instance: all that this type can do
  kEfa,        ///< efa
  kNics,       ///< nics=N
  kRails,      ///< rails=N: of each device
  kGdr,        ///< gdr
  kDmabuf,     ///< dmabuf
};

struct Requirement {
  Required what = Required::kEfa;
  int number = 0;  ///< of kNics and kRails; the major version of kLibfabric
  int minor = 0;   ///< of kLibfabric
};

/// `efa,nics=32,libfabric>=1.22`, in any order, with or without blanks around commas.
///
/// Errors  kInvalidUsage: what cannot be understood, and what can.
Result<std::vector<Requirement>> parse_requirements(std::string_view text);

/// One sentence for each that is not met, in the order of the chain; empty if all are.
std::vector<std::string> unmet(const std::vector<Requirement>& requirements, const Facts& facts);

}  // namespace fabrail::plugin
