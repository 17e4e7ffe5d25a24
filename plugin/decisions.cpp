// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/decisions.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>

namespace fabrail::plugin {

namespace {

using observe::Decision;
using observe::Severity;

std::string joined(const std::vector<std::string>& texts, const char* between) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

std::string libfabric_version(const Facts& facts) {
  return std::to_string(facts.libfabric_major) + "." + std::to_string(facts.libfabric_minor);
}

Decision plugin_decision(const Facts& facts) {
  return {.name = "fabrail",
          .value = facts.version,
          .reason = facts.path.empty() ? "" : "loaded from " + facts.path,
          .remedy = {}};
}

// Which releases ask for which version first: see include/nccl_net_abi.h.
const char* nccl_releases(int abi) {
  switch (abi) {
    case 6:
      return "NCCL 2.13 to 2.18";
    case 7:
      return "NCCL 2.19";
    case 8:
      return "NCCL 2.20 to 2.23";
    case 9:
      return "NCCL 2.24 and 2.25";
    case 10:
      return "NCCL 2.26 and 2.27";
    case 11:
      return "NCCL 2.28 and 2.29";
    default:
      return "NCCL 2.30 or newer";
  }
}

Decision abi_decision(const Facts& facts) {
  return {.name = "abi",
          .value = "v" + std::to_string(facts.abi),
          .reason = std::string("asked for by ") + nccl_releases(facts.abi),
          .remedy = {}};
}

Decision libfabric_decision(const Facts& facts) {
  if (facts.libfabric_path.empty()) return {"libfabric", "none", "", "", Severity::kFact};
  return {.name = "libfabric",
          .value = libfabric_version(facts),
          .reason = "loaded from " + facts.libfabric_path,
          .remedy = {}};
}

Decision provider_decision(const Facts& facts) {
  Decision decision{.name = "provider",
                    .value = facts.provider.empty() ? "none" : facts.provider,
                    .reason = facts.provider_chosen ? "FABRAIL_PROVIDER or FI_PROVIDER says so"
                                                    : "the best that has a usable NIC",
                    .remedy = {}};
  const bool without_efa = facts.type != nullptr && facts.type->nics > 0 && !facts.uses_efa();
  if (without_efa && !facts.provider_chosen) {
    decision.severity = Severity::kMend;
    decision.reason = std::string(facts.type->name) + " has EFA, which is not used";
    decision.remedy =
        "`fabrail doctor` says what is missing (often /dev/infiniband in the container)";
  }
  if (!facts.passed_over.empty()) decision.reason += "; not " + joined(facts.passed_over, "; not ");
  return decision;
}

Decision nics_decision(const Facts& facts) {
  const std::size_t expected = facts.expected_nics();
  Decision decision{
      .name = "nics", .value = std::to_string(facts.nics), .reason = {}, .remedy = {}};
  if (!facts.uses_efa() || expected == 0) return decision;
  decision.value += " of " + std::to_string(std::max(expected, facts.nics));
  decision.reason = std::string(facts.type->name) + " has " + std::to_string(facts.type->nics);
  if (facts.nics >= expected) return decision;
  if (facts.nics_chosen) {
    decision.reason += ", FABRAIL_NICS leaves some out";
    return decision;
  }
  decision.severity = Severity::kMend;
  decision.reason += ", and " + std::to_string(expected - facts.nics) + " cannot be used";
  decision.remedy =
      "give this process every /dev/infiniband/uverbs* of EFA; `fabrail doctor` says which are "
      "missing";
  return decision;
}

Decision rails_decision(const Facts& facts) {
  return {.name = "rails", .value = rails_text(facts.rails), .reason = {}, .remedy = {}};
}

Decision topology_decision(const Facts& facts) {
  if (facts.topology.empty()) return {"topology", "NCCL's own detection", "", "", Severity::kFact};
  return {.name = "topology", .value = facts.topology, .reason = {}, .remedy = {}};
}

// Where there is none to be had, nothing is to be mended. Where there is, each device has warned.
Decision gpudirect_decision(const Facts& facts) {
  const bool has_none = facts.type != nullptr && facts.type->gpudirect == topology::GpuDirect::kNo;
  if (!facts.gpu.gpudirect && has_none) {
    return {.name = "gpudirect",
            .value = "no",
            .reason = std::string(facts.type->name) + " has none, nothing to mend",
            .remedy = {}};
  }
  if (facts.gpu.gpudirect)
    return {.name = "gpudirect", .value = facts.gpu.reason, .reason = {}, .remedy = {}};
  return {.name = "gpudirect", .value = "no", .reason = facts.gpu.reason, .remedy = {}};
}

// nvidia0, nvidia1, ...: what a container is given, whatever /sys shows.
int nvidia_device_nodes() {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kPrefix = "nvidia";
    if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) continue;
    count += std::all_of(name.begin() + kPrefix.size(), name.end(),
                         [](unsigned char c) { return std::isdigit(c) != 0; });
  }
  return count;
}

}  // namespace

std::size_t Facts::expected_nics() const {
  if (type == nullptr) return 0;
  if (gpus == 0 || gpus >= type->gpus) return static_cast<std::size_t>(type->nics);
  return static_cast<std::size_t>((type->nics * gpus + type->gpus - 1) / type->gpus);
}

std::vector<Decision> decide(const Facts& facts) {
  std::vector<Decision> decisions = {plugin_decision(facts),    abi_decision(facts),
                                     libfabric_decision(facts), provider_decision(facts),
                                     nics_decision(facts),      rails_decision(facts),
                                     gpudirect_decision(facts)};
  decisions.insert(decisions.end(), facts.others.begin(), facts.others.end());
  decisions.push_back(topology_decision(facts));
  return decisions;
}

std::string rails_text(const std::vector<std::size_t>& rails) {
  if (rails.empty()) return "no device";
  const bool even =
      std::adjacent_find(rails.begin(), rails.end(), std::not_equal_to<>()) == rails.end();
  std::string text = std::to_string(rails.size()) +
                     (rails.size() == 1 ? " device of " : " devices of ") +
                     std::to_string(rails.front());
  for (std::size_t i = 1; !even && i < rails.size(); ++i) text += ", " + std::to_string(rails[i]);
  return text + (even && rails.front() == 1 ? " rail" : " rails");
}

std::string plugin_path() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&plugin_path), &found) == 0) return {};
  std::error_code error;
  const auto path = std::filesystem::canonical(found.dli_fname, error);
  return error ? std::string(found.dli_fname) : path.string();
}

int visible_gpus(const topology::Machine& machine) {
  const int seen = static_cast<int>(gpus_of(machine.tree).size());
  const int given = machine.is_this_machine ? nvidia_device_nodes() : 0;
  if (given == 0 || seen == 0) return std::max(given, seen);
  return std::min(given, seen);
}

}  // namespace fabrail::plugin
