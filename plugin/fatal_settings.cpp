// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/fatal_settings.h"

namespace fabrail::plugin {

void remove_fatal_settings(std::uint32_t libfabric, const fabric::MachineAnswers& machine,
                           const ProcessEnvironment& environment, const Logger& logger) {
  const unsigned major = libfabric >> 16;
  const unsigned minor = libfabric & 0xffff;
  for (const auto& [name, value, reason] :
       fabric::fatal_settings(libfabric, environment.get, machine)) {
    environment.set(name, nullptr);
    logger.warn(
        "%s=%s is ignored here, as on EFA libfabric %u.%u would end this process for it: %s. "
        "Unset it",
        name, value.c_str(), major, minor, reason.c_str());
  }
}

}  // namespace fabrail::plugin
