// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/nic_speed.h"

namespace fabrail::topology {

namespace {

// EFA drivers before 2.13 say this of every NIC.
constexpr std::int64_t kWhatOldDriversSay = 100000;
// What NCCL takes for a NIC that does not tell.
constexpr std::int64_t kNcclDefault = 10000;

std::string gbps(std::int64_t mbps) { return std::to_string(mbps / 1000) + " Gb/s"; }

}  // namespace

NicSpeed nic_speed(std::int64_t reported_mbps, int generation, const InstanceType* instance) {
  const bool silent = reported_mbps <= 0;
  if (generation == 0) {
    if (!silent) return {reported_mbps, ""};
    return {kNcclDefault, "the NIC does not tell its speed; taking " + gbps(kNcclDefault)};
  }
  const std::int64_t known = instance ? instance->nic_mbps : usual_efa_mbps(generation);
  const bool doubtful = reported_mbps == kWhatOldDriversSay && known != kWhatOldDriversSay;
  if (!silent && !doubtful) return {reported_mbps, ""};
  const std::string source = instance ? std::string("a NIC of ") + instance->name
                                      : "EFA generation " + std::to_string(generation);
  return {known, (silent ? std::string("no speed") : gbps(reported_mbps)) +
                     " is reported; taking " + gbps(known) + ", as for " + source};
}

}  // namespace fabrail::topology
