// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/observe/decision.h"

namespace fabrail::observe {

std::string to_text(const Decision& decision) {
  std::string text = decision.name + " " + decision.value;
  if (!decision.reason.empty()) text += ": " + decision.reason;
  if (!decision.remedy.empty()) text += ". To mend it: " + decision.remedy;
  return text;
}

}  // namespace fabrail::observe
