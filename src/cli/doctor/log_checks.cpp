// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on a log: what was really used, and what the known lines in it mean.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

using Names = std::map<std::string, std::set<std::string>>;

bool is_builtin(const std::string& network) { return network == "Socket" || network == "IB"; }

/// "8 processes: fabrail; 1 process: Socket"
std::string shares(const Names& names, const char* noun) {
  std::vector<std::string> parts;
  for (const auto& [name, who] : names) {
    parts.push_back(fmt::format("{}: {}", counted(who.size(), noun), name));
  }
  return join(parts, "; ");
}

Findings check_readable(const Survey& survey) {
  const NcclLog& log = *survey.log;
  if (log.info_lines > 0) {
    return fine(fmt::format("{} of {} lines are NCCL's", log.nccl_lines, log.lines));
  }
  if (!log.signs.empty()) return {};  // other lines speak
  return warning(fmt::format("no line of {} is from NCCL at level INFO", log.name),
                 "Without them nothing shows which network was used.",
                 "Run the job with NCCL_DEBUG=INFO (and NCCL_DEBUG_SUBSYS=INIT,NET,ENV).");
}

std::vector<LogSign> signs_of(const NcclLog& log, SignKind kind) {
  std::vector<LogSign> found;
  for (const LogSign& sign : log.signs) {
    if (log_signs()[sign.sign].kind == kind) found.push_back(sign);
  }
  return found;
}

bool uses_builtin(const NcclLog& log) {
  return std::any_of(log.networks.begin(), log.networks.end(),
                     [](const auto& entry) { return is_builtin(entry.first); });
}

/// Whether the job went on without the plugin, or did not get as far as choosing a network.
bool plugin_unused(const NcclLog& log) { return log.networks.empty() || uses_builtin(log); }

std::string quote(const LogSign& sign) {
  const std::string text = sign.line.substr(0, 400);
  return sign.count == 1 ? text : fmt::format("{} ({} times)", text, sign.count);
}

Finding of_sign(const LogSign& sign) {
  const SignText& text = log_signs()[sign.sign];
  return {Verdict::kBroken, quote(sign), text.why, text.action, ""};
}

Findings check_plugin(const Survey& survey) {
  const NcclLog& log = *survey.log;
  if (!log.plugins.empty() && !plugin_unused(log)) return fine(shares(log.plugins, "process"));
  if (!plugin_unused(log)) return {};
  auto signs = signs_of(log, SignKind::kLoad);
  if (signs.empty()) signs = signs_of(log, SignKind::kLoadGeneric);
  if (signs.empty()) return {};
  return {of_sign(signs.front())};  // what follows the first is its consequence
}

bool explained_by_plugin(const Survey& survey) {
  const Findings findings = check_plugin(survey);
  return !findings.empty() && findings.front().verdict == Verdict::kBroken;
}

Findings check_provider(const Survey& survey) {
  const NcclLog& log = *survey.log;
  if (log.providers.empty()) return {};
  const std::string fact = "provider by " + shares(log.providers, "host");
  for (const auto& [name, hosts] : log.providers) {
    if (contains(name, "efa") || contains(name, "cxi") || contains(name, "verbs")) continue;
    return broken(fact, "libfabric moved everything over TCP: EFA devices were not visible to it.",
                  "Run fabrail doctor there: the efa checks say why.");
  }
  std::set<int> counts;
  for (const auto& [host, nics] : log.nics) counts.insert(nics.begin(), nics.end());
  if (counts.size() > 1) {
    return warning(fmt::format("hosts found different numbers of NICs: {} to {}", *counts.begin(),
                               *counts.rbegin()),
                   "Rails do not match; aws-ofi-nccl then refuses the connection.",
                   "Give every node the same number of EFA devices.");
  }
  return fine(
      counts.empty()
          ? fact
          : fmt::format("{}, {}", fact, counted(static_cast<std::size_t>(*counts.begin()), "NIC")));
}

Findings check_network(const Survey& survey) {
  const NcclLog& log = *survey.log;
  if (log.networks.empty()) return {};
  const std::string fact = "network by " + shares(log.networks, "process");
  if (explained_by_plugin(survey)) return note(fact);
  if (log.networks.size() > 1) {
    return broken(fact, "Ranks on different networks cannot talk to each other: the job hangs.",
                  "Compare images and environments of the hosts: `fabrail doctor` on each, and its "
                  "lib.fingerprint.");
  }
  if (uses_builtin(log)) {
    return broken(fact,
                  "No plugin was used, and the log does not say why: with NCCL before 2.28 a "
                  "plugin whose start fails leaves no line.",
                  "Run fabrail doctor in the job's container; set NCCL_NET to the plugin's name so "
                  "that a fallback is an error.");
  }
  return fine(fact);
}

Findings check_versions(const Survey& survey) {
  const NcclLog& log = *survey.log;
  for (const auto& [what, names] : {std::pair<const char*, const Names&>{"NCCL", log.nccl_versions},
                                    std::pair<const char*, const Names&>{"plugin", log.plugins}}) {
    if (names.size() < 2) continue;
    return broken(fmt::format("different versions of {}: {}", what, shares(names, "process")),
                  "Ranks of different versions hang or give wrong results.",
                  "Use one image; compare lib.fingerprint of fabrail doctor between hosts.");
  }
  if (log.nccl_versions.empty()) return {};
  return fine(fmt::format("NCCL {}", log.nccl_versions.begin()->first));
}

/// Connections over networks that are not NCCL's own.
HostTraffic plugin_traffic(const NcclLog& log) {
  HostTraffic sum;
  for (const auto& [network, hosts] : log.traffic) {
    if (is_builtin(network)) continue;
    for (const auto& [host, traffic] : hosts) {
      sum.connections += traffic.connections;
      sum.with_gdr += traffic.with_gdr;
    }
  }
  return sum;
}

Findings check_gpudirect(const Survey& survey) {
  const HostTraffic sum = plugin_traffic(*survey.log);
  if (sum.connections == 0) return {};
  const std::string fact =
      fmt::format("{} of {} connections use GPUDirect RDMA", sum.with_gdr, sum.connections);
  if (sum.with_gdr == sum.connections) return fine(fact);
  return warning(fact,
                 "The others copy through host memory. On types without GPUDirect (g4dn, g5, g6, "
                 "g6e, p3dn, p5.4xlarge, g7e.8xlarge) this is as good as it gets.",
                 "Run fabrail doctor there: the gdr checks, gdr.closeness and env.gdr-level.");
}

/// Hosts where several processes share one device though there must be more.
Findings check_devices(const Survey& survey) {
  const NcclLog& log = *survey.log;
  std::vector<std::string> parts;
  for (const auto& [network, hosts] : log.traffic) {
    if (is_builtin(network)) continue;
    for (const auto& [host, traffic] : hosts) {
      const bool lone = traffic.devices.size() == 1 && traffic.processes.size() > 2;
      if (!lone) continue;
      return warning(fmt::format("all {} of {} use device {} of {}",
                                 counted(traffic.connections, "connection"), host,
                                 traffic.devices.begin()->first, network),
                     "One NIC carries what several could. Only instances with a single NIC should "
                     "look like this.",
                     "Run fabrail doctor there: efa.count, efa.device-nodes, gdr.closeness.");
    }
    parts.push_back(fmt::format("{}: {} used by {}", network,
                                counted(hosts.begin()->second.devices.size(), "device"),
                                hosts.begin()->first));
  }
  if (parts.empty()) return {};
  return fine(join(parts, "; "));
}

Findings check_protocol(const Survey& survey) {
  const auto& protocols = survey.log->protocols;
  if (protocols.empty()) return {};
  return fine("transport protocol " + join({protocols.begin(), protocols.end()}, ", "));
}

Findings check_errors(const Survey& survey) {
  Findings findings;
  if (explained_by_plugin(survey)) return findings;
  for (const LogSign& sign : signs_of(*survey.log, SignKind::kError)) {
    findings.push_back(of_sign(sign));
    break;  // what follows the first is its consequence
  }
  return findings;
}

constexpr std::array kChecks = {
    Check{"log.readable", "Does the log say anything?", check_readable,
          "Counts lines with NCCL INFO."},
    Check{
        "log.plugin", "Was a plugin loaded and started?", check_plugin,
        "Looks for the greeting of plugins, and for known reasons of failure. Lines that sound "
        "like failures in healthy logs (ncclCollNetPlugin, tuner and profiler plugins that are "
        "not found) are passed over. The first reason is shown, as later lines are consequences."},
    Check{"log.provider", "Which libfabric provider was selected?", check_provider,
          "Reads `Selected provider is ...` in the spelling of every release, and the number of "
          "NICs found on each host."},
    Check{"log.network", "Which network does NCCL use?", check_network,
          "Reads `Using network ...`, which every release prints for every communicator."},
    Check{"log.versions", "Do all ranks run the same software?", check_versions,
          "Compares the versions of NCCL and of the plugin that processes print."},
    Check{"log.gpudirect", "Do connections use GPUDirect RDMA?", check_gpudirect,
          "Counts `via NET/...` lines with and without /GDRDMA. A number in parentheses behind the "
          "device means that another rank relays (PXN), which is no fault."},
    Check{"log.devices", "Are connections spread over the devices?", check_devices,
          "Counts the devices in `via NET/NAME/DEVICE` for each host."},
    Check{"log.protocol", "Which protocol did the plugin choose?", check_protocol,
          "Reads `Using transport protocol ...` of aws-ofi-nccl."},
    Check{"log.errors", "Are there errors, and what do they mean?", check_errors,
          "Searches for known texts of NCCL, plugins and libfabric; shows the first."},
};

}  // namespace

std::span<const Check> log_checks() { return kChecks; }

}  // namespace fabrail::doctor
