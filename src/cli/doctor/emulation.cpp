// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/emulation.h"

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

bool has_emulated_nics(const System& system) {
  return system.variable("FABRAIL_SIM_DIR").has_value();
}

std::string emulated_instance(const System& system) {
  const std::string folder = system.variable("FABRAIL_SIM_DIR").value_or("");
  for (const std::string& line : lines(system.read(folder + "/description").value_or(""))) {
    const auto parts = words(line);
    if (parts.size() == 2 && parts[0] == "instance") return parts[1];
  }
  return {};
}

}  // namespace fabrail::doctor
