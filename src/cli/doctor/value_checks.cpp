// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on values that were right once, or elsewhere: one row per rule, each with its reason.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/text.h"
#include "src/fabric/fatal_settings.h"

namespace fabrail::doctor {

namespace {

/// A rule on one variable. `verdict_of` is asked only if the variable is set; kOk says nothing.
struct ValueRule {
  std::string_view id;
  const char* variable;
  Verdict (*verdict_of)(const Survey& survey, const std::string& value);
  const char* why;
  const char* action;
  std::string_view explanation;
};

Verdict if_true(bool condition, Verdict verdict) { return condition ? verdict : Verdict::kOk; }

/// A provider list without EFA, or one that leaves EFA out.
Verdict provider(const Survey& survey, const std::string& value) {
  const bool excludes = value.starts_with('^');
  const bool names_efa = contains(lower(value), "efa");
  return if_true(survey.expects_efa() && excludes == names_efa, Verdict::kBroken);
}

Verdict protocol(const Survey& survey, const std::string& value) {
  if (!survey.expects_efa()) return Verdict::kOk;
  const std::string text = lower(value);
  const bool forces_ll = contains(text, "ll") && !text.starts_with('^');
  if (forces_ll && survey.type != nullptr && !survey.type_has_gpudirect()) return Verdict::kBroken;
  return Verdict::kWarning;
}

Verdict on_efa_warning(const Survey& survey, const std::string&) {
  return if_true(survey.expects_efa(), Verdict::kWarning);
}

Verdict warning_when_on(const Survey&, const std::string& value) {
  return if_true(!value.empty() && value != "0", Verdict::kWarning);
}

Verdict device_rdma(const Survey& survey, const std::string& value) {
  if (survey.type == nullptr) return Verdict::kOk;
  if (value == "0") return if_true(survey.type->rdma_read, Verdict::kWarning);
  if (!survey.type->rdma_read) return Verdict::kBroken;
  return if_true(!older_than(survey.software.libfabric_version(), 1, 18), Verdict::kInfo);
}

Verdict gdr_level(const Survey& survey, const std::string& value) {
  const std::string level = lower(value);
  const bool nowhere = level == "loc" || level == "0";
  if (nowhere) return if_true(survey.expects_gpudirect(), Verdict::kBroken);
  const bool everywhere = level == "sys" || level == "phb" || level == "5" || level == "4";
  return if_true(everywhere && survey.expects_efa(), Verdict::kWarning);
}

Verdict broken_with_gpudirect(const Survey& survey, const std::string& value) {
  const bool off = value.empty() || value == "0";
  return if_true(!off && survey.expects_gpudirect(), Verdict::kBroken);
}

Verdict hmem(const Survey& survey, const std::string& value) {
  const std::string text = lower(value);
  const bool has_cuda = text.empty() || text == "all" || contains(text, "cuda");
  return if_true(!has_cuda && survey.expects_gpudirect(), Verdict::kBroken);
}

Verdict duplicate_connections(const Survey& survey, const std::string& value) {
  return if_true(to_number(value).value_or(0) > 1 && survey.expects_gpudirect(), Verdict::kBroken);
}

Verdict plugin_protocol(const Survey& survey, const std::string& value) {
  const bool slower = lower(value) == "sendrecv" && survey.type != nullptr &&
                      survey.type->efa_generation >= 2 && survey.type_has_gpudirect();
  return slower ? Verdict::kWarning : Verdict::kInfo;
}

Verdict monitor(const Survey&, const std::string& value) {
  if (value == "memhooks") return Verdict::kWarning;
  return if_true(value == "disabled", Verdict::kInfo);
}

/// The rules by which the plugin itself goes. What the machine has to be asked is left to
/// env.device-rdma and limits.huge-pages, which look at files.
Findings check_fatal(const Survey& survey) {
  const auto version = survey.software.libfabric_version();
  if (!version || !survey.expects_efa()) return {};
  const auto number = static_cast<std::uint32_t>(version->parts[0] << 16 | version->parts[1]);
  const auto& values = survey.settings.values;
  const auto get = [&values](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.value.c_str();
  };
  Findings findings;
  for (const auto& setting :
       fabric::fatal_settings(number, get, {.fork_is_safe = [] { return std::optional(true); }})) {
    findings.push_back({Verdict::kBroken, survey.settings.shown(setting.name),
                        fmt::format("libfabric {} ends a process for it: {}. fabrail takes it out "
                                    "of its process first; other plugins and programs die.",
                                    version->text, setting.reason),
                        "Unset it.", ""});
  }
  return findings;
}

bool has_slingshot(const Survey& survey) { return survey.system.exists("/sys/class/cxi"); }

Verdict slingshot_channels(const Survey& survey, const std::string& value) {
  return if_true(has_slingshot(survey) && to_number(value).value_or(0) > 20, Verdict::kInfo);
}

constexpr const char* kHandTuned =
    "Plugins set it themselves to what suits the instance type; a value from older advice "
    "overrides that.";

constexpr std::array kRules = {
    ValueRule{"env.provider", "FI_PROVIDER", provider,
              "libfabric may then use only the named provider, and traffic leaves EFA.",
              "Unset it: plugins choose EFA by themselves.",
              "On a machine with EFA the list must contain efa (with ^ in front: must not). It was "
              "needed up to aws-ofi-nccl 1.5 only."},
    ValueRule{"env.protocol", "NCCL_PROTO", protocol,
              "It switches the plugin's tuner off. Where GPUDirect is not available, forcing LL or "
              "LL128 can also give wrong results, as these rely on the order of bytes in memory.",
              "Unset it: plugins forbid by themselves what is not safe.",
              "NCCL_PROTO=simple was needed up to aws-ofi-nccl 1.5. LL or LL128 on a type without "
              "GPUDirect is broken: the CPU polls memory in which the NIC's bytes have no order."},
    ValueRule{"env.algorithm", "NCCL_ALGO", on_efa_warning,
              "It switches the plugin's tuner off, and is seldom best for all sizes.", "Unset it.",
              "Fine for an experiment, a loss in production."},
    ValueRule{"env.buffer-size", "NCCL_BUFFSIZE", on_efa_warning, kHandTuned, "Unset it.",
              "Set by plugins since aws-ofi-nccl 1.16."},
    ValueRule{"env.channels", "NCCL_MIN_NCHANNELS", on_efa_warning,
              "More channels than the NICs need take GPU time from the computation.", "Unset it.",
              "Comes from advice for early p4d stacks."},
    ValueRule{"env.device-rdma", "FI_EFA_USE_DEVICE_RDMA", device_rdma,
              "0 turns RDMA off where the NIC has it; 1 makes libfabric abort where the NIC does "
              "not. Since libfabric 1.18 the hardware is followed without it.",
              "Unset it.",
              "Needed with libfabric before 1.18 or aws-ofi-nccl before 1.7 on p4d; harmless there "
              "today, fatal on p3dn, g4dn and g5."},
    ValueRule{
        "env.rdmav-fork", "RDMAV_FORK_SAFE", warning_when_on,
        "It is libibverbs's own switch, costs registrations time and clashes with huge pages. "
        "With kernel 5.13 and rdma-core 35 nothing is needed.",
        "Unset it; FI_EFA_FORK_SAFE=1 (which plugins set) is the right one for older kernels.",
        "No RDMAV_ variable should be set by hand."},
    ValueRule{"env.rdmav-huge-pages", "RDMAV_HUGEPAGES_SAFE", warning_when_on,
              "It slows every registration down.", "Unset it.",
              "No RDMAV_ variable should be set by hand."},
    ValueRule{"env.gdr-level", "NCCL_NET_GDR_LEVEL", gdr_level,
              "LOC switches GPUDirect off between instances; PHB and SYS allow it over paths on "
              "which jobs have hung.",
              "Unset it: the default and the plugin's topology are right on EC2.",
              "LOC came with sample Dockerfiles of 2024 and 2025. Values may also be numbers from "
              "0 (LOC) to 5 (SYS)."},
    ValueRule{"env.p2p-disable", "NCCL_P2P_DISABLE", warning_when_on,
              "GPUs of one machine then talk through host memory or the network, not NVLink.",
              "Unset it, unless a fault is being looked for.", "A switch for debugging."},
    ValueRule{"env.shm-disable", "NCCL_SHM_DISABLE", warning_when_on,
              "Ranks of one machine without peer access then talk through the network.",
              "Unset it, unless a fault is being looked for.", "A switch for debugging."},
    ValueRule{"env.gdr-check", "OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK", warning_when_on,
              "aws-ofi-nccl then runs without GPUDirect where it should stop: slow and silent.",
              "Unset it and mend GPUDirect.", "The check exists since aws-ofi-nccl 1.7.4."},
    ValueRule{"env.rdma-check", "OFI_NCCL_DISABLE_NATIVE_RDMA_CHECK", warning_when_on,
              "aws-ofi-nccl then accepts RDMA writes that libfabric emulates with packets.",
              "Unset it.", "A switch for debugging."},
    ValueRule{"env.plugin-protocol", "OFI_NCCL_PROTOCOL", plugin_protocol,
              "aws-ofi-nccl chooses RDMA or SENDRECV by instance type. SENDRECV uses one NIC for "
              "each device.",
              "Unset it.", "SENDRECV on p5 and later is a warning."},
    ValueRule{"env.duplicate-connections", "OFI_NCCL_NIC_DUP_CONNS", duplicate_connections,
              "It excludes GPUDirect: aws-ofi-nccl refuses to start with both.", "Unset it.",
              "Meant for p3dn, which has one NIC and no GPUDirect."},
    ValueRule{"env.disable-p2p", "FI_HMEM_DISABLE_P2P", broken_with_gpudirect,
              "It forbids NICs to reach GPU memory.", "Unset it.", "A switch for debugging."},
    ValueRule{"env.hmem", "FI_HMEM", hmem,
              "libfabric then knows no GPU memory and refuses to register it.",
              "Unset it, or add cuda.", "A list of memory kinds; all if unset."},
    ValueRule{"env.mr-cache-monitor", "FI_MR_CACHE_MONITOR", monitor,
              "memhooks can deadlock with other libraries that watch memory (Open MPI, NCCL); "
              "disabled turns the registration cache off.",
              "Unset it on EFA; use userfaultfd (or kdreg2) on Slingshot.",
              "memhooks is a warning everywhere."},
    ValueRule{"env.slingshot-channels", "NCCL_MAX_NCHANNELS", slingshot_channels,
              "On Slingshot the connections of a large job (more than about 2000) have stalled; 20 "
              "channels or fewer avoid it.",
              "Set NCCL_MAX_NCHANNELS=20 or less if trees never connect.",
              "Only where /sys/class/cxi exists."},
};

Findings apply(const ValueRule& rule, const Survey& survey) {
  const auto value = survey.settings.value(rule.variable);
  if (!value || is_quoted(*value)) return {};
  const Verdict verdict = rule.verdict_of(survey, *value);
  if (verdict == Verdict::kOk) return {};
  return {{verdict, survey.settings.shown(rule.variable), rule.why, rule.action, ""}};
}

template <std::size_t kIndex>
Findings run_rule(const Survey& survey) {
  return apply(kRules[kIndex], survey);
}

/// What a Slingshot machine needs: HPE's and the sites' guides agree on these.
constexpr std::array kSlingshotSettings = {
    std::pair{"FI_MR_CACHE_MONITOR", "userfaultfd"},
    std::pair{"FI_CXI_DISABLE_HOST_REGISTER", "1"},
    std::pair{"FI_CXI_DEFAULT_CQ_SIZE", "131072"},
};

Findings check_slingshot(const Survey& survey) {
  if (!has_slingshot(survey)) return {};
  std::vector<std::string> missing;
  for (const auto& [name, value] : kSlingshotSettings) {
    if (!survey.settings.value(name)) missing.push_back(fmt::format("{}={}", name, value));
  }
  if (missing.empty()) return fine("the settings that Slingshot needs are there");
  return warning(fmt::format("on Slingshot without {}", join(missing, ", ")),
                 "Jobs have hung or ended with full completion queues without them.",
                 "Set them; the site's guide may have other values.");
}

Check check_of(const ValueRule& rule, Findings (*run)(const Survey&)) {
  return {rule.id, rule.variable, run, rule.explanation};
}

template <std::size_t... kIndices>
std::vector<Check> make_checks(std::index_sequence<kIndices...>) {
  std::vector<Check> checks{check_of(kRules[kIndices], run_rule<kIndices>)...};
  checks.push_back({"env.fatal", "Does a setting make libfabric end the process?", check_fatal,
                    "Variables that libfabric no longer has, and values that it does not take "
                    "(docs/emulated-efa.md lists them): it calls abort() where others ignore."});
  checks.push_back({"env.slingshot", "Are Slingshot's settings there?", check_slingshot,
                    "Only where /sys/class/cxi exists: FI_MR_CACHE_MONITOR, "
                    "FI_CXI_DISABLE_HOST_REGISTER, FI_CXI_DEFAULT_CQ_SIZE."});
  return checks;
}

}  // namespace

std::span<const Check> value_checks() {
  static const std::vector<Check> checks = make_checks(std::make_index_sequence<kRules.size()>());
  return checks;
}

}  // namespace fabrail::doctor
