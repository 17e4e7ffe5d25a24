// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What a check says: a fact, how bad it is, why it matters and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabrail::doctor {

/// Worse is larger.
enum class Verdict { kOk, kInfo, kWarning, kBroken };

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string fact;
  std::string why;     ///< empty for kOk and kInfo
  std::string action;  ///< likewise, unless there is something to know
  std::string check;   ///< id of the check; filled in by run_checks
};

/// None: the check does not apply to this machine.
using Findings = std::vector<Finding>;

inline Findings fine(std::string fact) { return {{Verdict::kOk, std::move(fact), "", "", ""}}; }
inline Findings note(std::string fact, std::string why = "", std::string action = "") {
  return {{Verdict::kInfo, std::move(fact), std::move(why), std::move(action), ""}};
}
inline Findings warning(std::string fact, std::string why, std::string action) {
  return {{Verdict::kWarning, std::move(fact), std::move(why), std::move(action), ""}};
}
inline Findings broken(std::string fact, std::string why, std::string action) {
  return {{Verdict::kBroken, std::move(fact), std::move(why), std::move(action), ""}};
}

}  // namespace fabrail::doctor
