// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/fabric/fatal_settings.h"

#include <rdma/fabric.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace fabrail::fabric {

namespace {

struct Question {
  std::uint32_t version;
  const char* value;
  const Environment& environment;
  const MachineAnswers& machine;
};

/// One row: versions from `since` until before `until` end the process if `reason_for` has one.
struct Rule {
  const char* name;
  std::uint32_t since;
  std::uint32_t until;
  std::string (*reason_for)(const Question& question);
};

constexpr std::uint32_t kAlways = 0;
constexpr std::uint32_t kStill = UINT32_MAX;

template <std::size_t kCount>
bool is_one_of(const char* value, const std::array<const char*, kCount>& words) {
  return std::ranges::any_of(words, [&](const char* word) { return strcasecmp(value, word) == 0; });
}

// The words of libfabric's booleans; nullopt: it refuses the value.
std::optional<bool> parse_bool(const char* value) {
  if (is_one_of(value, std::array{"1", "true", "yes", "on"})) return true;
  if (is_one_of(value, std::array{"0", "false", "no", "off"})) return false;
  return std::nullopt;
}

// Its numbers: whatever is none counts as 0.
int parse_int(const char* value) { return static_cast<int>(std::strtol(value, nullptr, 0)); }

std::string removed(const Question&) { return "it no longer has this setting"; }

std::string not_positive(const Question& question) {
  return parse_int(question.value) > 0 ? "" : "it takes nothing but numbers from 1 on here";
}

// Before 2.0 a receiver aborts when a message comes whose turn lies beyond its window.
std::string small_window(const Question& question) {
  constexpr int kDefault = 16384;
  if (parse_int(question.value) >= kDefault) return "";
  return "it ends when a message has overtaken as many others; the default, " +
         std::to_string(kDefault) + ", is enough";
}

std::string empty(const Question& question) {
  return *question.value != '\0' ? "" : "an empty list names no NIC";
}

std::string device_rdma(const Question& question) {
  const bool is_number = question.version < FI_VERSION(1, 18);
  const auto wanted =
      is_number ? std::optional(parse_int(question.value) != 0) : parse_bool(question.value);
  if (!wanted) return "it takes nothing but 0, false, no, off, 1, true, yes and on here";
  const bool refused = *wanted && question.machine.reads_by_rdma() == false;
  return refused ? "the EFA NICs here do not read by RDMA" : "";
}

// libibverbs' own two are on with any value.
const char* fork_setting(const Environment& environment) {
  const char* own = environment("FI_EFA_FORK_SAFE");
  if (own != nullptr && parse_bool(own) == true) return "FI_EFA_FORK_SAFE";
  for (const char* name : {"RDMAV_FORK_SAFE", "IBV_FORK_SAFE"}) {
    if (environment(name) != nullptr) return name;
  }
  return nullptr;
}

std::string huge_pages(const Question& question) {
  const char* other = fork_setting(question.environment);
  if (parse_bool(question.value) != true || other == nullptr) return "";
  if (question.machine.fork_is_safe() == true) return "";
  return std::string(other) + " is set, too, which cannot make huge pages safe for fork()";
}

constexpr std::array kRules = {
    Rule{"FI_EFA_MTU_SIZE", FI_VERSION(1, 18), kStill, removed},
    Rule{"FI_EFA_TX_IOV_LIMIT", FI_VERSION(1, 19), kStill, removed},
    Rule{"FI_EFA_RX_IOV_LIMIT", FI_VERSION(1, 19), kStill, removed},
    Rule{"FI_EFA_SHM_MAX_MEDIUM_SIZE", kAlways, FI_VERSION(1, 20), removed},
    Rule{"FI_EFA_TX_MIN_CREDITS", FI_VERSION(1, 18), kStill, not_positive},
    Rule{"FI_EFA_RECVWIN_SIZE", kAlways, FI_VERSION(2, 0), small_window},
    Rule{"FI_EFA_IFACE", FI_VERSION(2, 0), kStill, empty},
    Rule{"FI_EFA_USE_DEVICE_RDMA", kAlways, kStill, device_rdma},
    Rule{"FI_EFA_USE_HUGE_PAGE", FI_VERSION(1, 19), kStill, huge_pages},
};

}  // namespace

std::vector<FatalSetting> fatal_settings(std::uint32_t version, const Environment& environment,
                                         const MachineAnswers& machine) {
  std::vector<FatalSetting> found;
  for (const Rule& rule : kRules) {
    const char* value = environment(rule.name);
    if (value == nullptr || version < rule.since || version >= rule.until) continue;
    std::string reason = rule.reason_for({version, value, environment, machine});
    if (!reason.empty()) found.push_back({rule.name, value, std::move(reason)});
  }
  return found;
}

}  // namespace fabrail::fabric
