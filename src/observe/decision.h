// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One thing that the plugin has decided or found out, with the reason: what the log says at init,
// and what FABRAIL_REQUIRE is judged by.
#pragma once

#include <cstdint>
#include <string>

namespace fabrail::observe {

enum class Severity : std::uint8_t {
  kFact,  ///< as it should be, or nothing to be done about it
  kMend,  ///< costs performance, and can be mended
};

struct Decision {
  std::string name;    ///< one word: "provider"
  std::string value;   ///< what it is: "tcp"
  std::string reason;  ///< why; may be empty
  std::string remedy;  ///< what would change it; may be empty
  Severity severity = Severity::kFact;
};

/// One line without a line end: `provider tcp: libfabric offers no efa. To mend it: ...`.
std::string to_text(const Decision& decision);

}  // namespace fabrail::observe
