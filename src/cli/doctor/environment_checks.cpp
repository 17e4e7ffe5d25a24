// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on settings that name something: a network, a file, a folder, an interface.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "src/base/config.h"
#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/nccl_topology.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

bool concerns_us(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("FI_") || name.starts_with("OFI_NCCL_") ||
         name.starts_with("FABRAIL_") || name == "LD_LIBRARY_PATH";
}

Findings check_conf(const Survey& survey) {
  const auto& complaints = survey.settings.complaints;
  if (!complaints.empty()) {
    const ConfComplaint& first = complaints.front();
    return warning(fmt::format("{} {}", first.place, first.text),
                   "The setting has no effect, and nothing says so.",
                   "Write NAME=VALUE, without blanks, quotes or export.");
  }
  if (survey.settings.files.empty()) return {};
  return fine(fmt::format("NCCL also reads {}", join(survey.settings.files, ", ")));
}

Findings check_quotes(const Survey& survey) {
  for (const auto& [name, setting] : survey.settings.values) {
    if (!concerns_us(name) || !is_quoted(setting.value)) continue;
    return broken(fmt::format("the value contains its quotes: {}", survey.settings.shown(name)),
                  "Programs take the quotes as part of the name, and find nothing of that name.",
                  "Set it without quotes; look for a start script or ssh hook that adds them.");
  }
  return {};
}

/// The names under which a plugin answers to NCCL_NET.
std::vector<std::string> net_names(const Plugin& plugin) {
  if (plugin.kind == PluginKind::kFabrail) {
    return {"fabrail", "AWS Libfabric", "Libfabric", "OFI"};
  }
  if (plugin.kind != PluginKind::kAwsOfiNccl) return {};
  if (older_than(plugin.version, 1, 12)) return {"AWS Libfabric"};
  return {"Libfabric", "AWS Libfabric", "OFI"};
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& one) { return lower(one) == lower(name); });
}

Findings check_net(const Survey& survey) {
  const auto value = survey.settings.value("NCCL_NET");
  if (!value || value->empty() || is_quoted(*value)) return {};
  const std::string fact = survey.settings.shown("NCCL_NET");
  if (is_one_of(*value, {"Socket", "IB"})) {
    if (!survey.expects_efa()) return {};
    return broken(fact + " on a machine with EFA",
                  "It tells NCCL to use its own transport and no plugin.",
                  "Unset it, or set it to the name of the plugin's network (fabrail).");
  }
  if (!survey.software.plugin) return {};
  const auto names = net_names(*survey.software.plugin);
  if (names.empty()) return {};
  if (is_one_of(*value, names)) return fine(fact + " makes NCCL refuse silent fallbacks");
  return broken(fmt::format("{}, but {} answers to {}", fact, name_of(survey.software.plugin->kind),
                            join(names, ", ")),
                "NCCL ends with `network ... not found` or `Failed to initialize any NET plugin`.",
                fmt::format("Set NCCL_NET={}, or unset it.", names.front()));
}

Findings check_pinned(const Survey& survey) {
  if (!survey.expects_efa() || !survey.software.plugin) return {};
  const auto value = survey.settings.value("NCCL_NET");
  if (value && !value->empty()) return {};
  return note("NCCL_NET is not set",
              "If the plugin cannot be loaded or does not start, NCCL goes on with sockets and a "
              "benchmark measures those.",
              survey.software.plugin->kind == PluginKind::kFabrail
                  ? "Set NCCL_NET=fabrail: a failure is then an error."
                  : "Set NCCL_NET to the name in the log's line `Using network ...`.");
}

bool is_about_networks(const std::string& folder) {
  const std::string text = lower(folder);
  for (const char* word : {"amazon", "efa", "ofi", "nccl", "libfabric", "fabrail", "rdma"}) {
    if (contains(text, word)) return true;
  }
  return false;
}

Findings check_dead_paths(const Survey& survey) {
  std::vector<std::string> dead;
  for (const std::string& folder :
       split(survey.settings.value("LD_LIBRARY_PATH").value_or(""), ':')) {
    if (folder.starts_with('/') && is_about_networks(folder) && !survey.system.is_folder(folder)) {
      dead.push_back(folder);
    }
  }
  if (dead.empty()) return {};
  return warning(fmt::format("LD_LIBRARY_PATH names {} that does not exist: {}",
                             dead.size() == 1 ? "a folder" : "folders", list_of(dead, 2)),
                 "Installers have moved their libraries between releases; the loader then finds "
                 "other copies, or none.",
                 "Find the folder of today (`find /opt -name 'libnccl-net*'`) and correct it.");
}

/// GPUs of a topology file that are not on this machine.
std::vector<std::string> absent_gpus(const Survey& survey, const TopologyFile& file) {
  std::set<std::string> present;
  for (const PciFunction& function : survey.hardware.functions) present.insert(function.address);
  std::vector<std::string> absent;
  for (const std::string& gpu : file.gpus) {
    if (present.count(gpu) == 0) absent.push_back(gpu);
  }
  return absent;
}

Findings check_topology(const Survey& survey) {
  const auto path = survey.settings.value("NCCL_TOPO_FILE");
  if (!path || path->empty() || path->starts_with("/proc/self/")) return {};
  const std::string fact = survey.settings.shown("NCCL_TOPO_FILE");
  const auto text = survey.system.read(*path, std::size_t{4} << 20);
  if (!text) {
    return warning(fact + " does not exist", "NCCL goes on with what it finds by itself.",
                   "Correct the path, or unset it: plugins describe the topology themselves.");
  }
  const TopologyFile file = read_topology_file(*text);
  const auto absent = absent_gpus(survey, file);
  if (!absent.empty() && !survey.is_image()) {
    return broken(fmt::format("{} lists {} that this machine does not show: {}", fact,
                              counted(absent.size(), "GPU"), list_of(absent, 2)),
                  "NCCL stops with an internal error (`Attribute arch of node cpu not found`) when "
                  "the file and the visible devices differ, as in a container with some GPUs.",
                  "Unset it, or write a file for these devices.");
  }
  if (file.elements > 256) {
    return warning(fmt::format("{} has {} elements", fact, file.elements),
                   "Older NCCL stops at 256: `too many XML nodes`.", "Leave leaf devices out.");
  }
  return fine(fact + " fits the GPUs");
}

Findings check_graph_file(const Survey& survey) {
  const auto path = survey.settings.value("NCCL_GRAPH_FILE");
  if (!path || path->empty()) return {};
  const std::string fact = survey.settings.shown("NCCL_GRAPH_FILE");
  return warning(survey.system.exists(*path) ? fact : fact + " does not exist",
                 "Fixed graphs belong to one machine and one NCCL release; elsewhere they give "
                 "errors or slow rings.",
                 "Unset it.");
}

bool is_up(const Survey& survey, const std::string& interface) {
  const std::string folder = "/sys/class/net/" + interface;
  const auto flags = to_number(survey.system.line(folder + "/flags").value_or(""));
  return flags && (*flags & 1) != 0;
}

/// NCCL's rule: `=` in front asks for whole names, `^` leaves out, else beginnings count.
bool selects(std::string_view setting, const std::string& interface) {
  const bool exclude = setting.starts_with('^');
  if (exclude) setting.remove_prefix(1);
  const bool exact = setting.starts_with('=');
  if (exact) setting.remove_prefix(1);
  bool listed = false;
  for (const std::string& part : split(setting, ',')) {
    const std::string name = part.substr(0, part.find(':'));
    if (!name.empty() && (exact ? interface == name : interface.starts_with(name))) listed = true;
  }
  return listed != exclude;
}

Findings check_interfaces(const Survey& survey) {
  const auto setting = survey.settings.value("NCCL_SOCKET_IFNAME");
  const auto interfaces = survey.system.list("/sys/class/net");
  if (!setting || setting->empty() || interfaces.empty()) return {};
  std::vector<std::string> left;
  for (const std::string& interface : interfaces) {
    if (is_up(survey, interface) && selects(*setting, interface)) left.push_back(interface);
  }
  const std::string fact = survey.settings.shown("NCCL_SOCKET_IFNAME");
  if (!left.empty()) return fine(fmt::format("{} leaves {}", fact, list_of(left)));
  return broken(fact + " leaves no interface that is up",
                "NCCL needs one for its bootstrap: `no socket interface found`. Interfaces in pods "
                "are often named otherwise than on the host.",
                fmt::format("Unset it, or name one of: {}.", list_of(interfaces)));
}

Findings check_iface(const Survey& survey) {
  const auto setting = survey.settings.value("FI_EFA_IFACE");
  const auto devices = survey.hardware.efa_devices();
  if (!setting || setting->empty() || *setting == "all" || devices.empty()) return {};
  std::size_t known = 0;
  for (const std::string& name : split(*setting, ',')) {
    known += static_cast<std::size_t>(
        std::count_if(devices.begin(), devices.end(),
                      [&](const VerbsDevice& device) { return device.name == trim(name); }));
  }
  const std::string fact = survey.settings.shown("FI_EFA_IFACE");
  if (known == 0) {
    return broken(fact + " names no device of this machine", "libfabric then lists no EFA device.",
                  fmt::format("Unset it. Devices here: {}.", devices.front().name));
  }
  return note(fmt::format("{} leaves {} of {} EFA devices", fact, known, devices.size()));
}

bool is_parameter(std::string_view name) {
  const auto table = params();
  return std::any_of(table.begin(), table.end(),
                     [&](const Param& param) { return name == param.name; });
}

Findings check_own(const Survey& survey) {
  std::vector<std::string> complaints;
  const Settings& settings = survey.settings;
  parse_config(
      [&](const char* name) -> const char* {
        const auto found = settings.values.find(name);
        return found == settings.values.end() ? nullptr : found->second.value.c_str();
      },
      complaints);
  if (!complaints.empty()) {
    return warning(complaints.front(), "The plugin goes on with its default.",
                   "See docs/environment.md for the range.");
  }
  std::vector<std::string> unknown;
  for (const auto& [name, setting] : settings.values) {
    const bool ours = name.starts_with("FABRAIL_") && !name.starts_with("FABRAIL_SIM_");
    if (ours && !is_parameter(name)) unknown.push_back(name);
  }
  if (unknown.empty()) return {};
  return note(fmt::format("not a setting of this version: {}", list_of(unknown)),
              "A misspelt name has no effect.");
}

constexpr std::array kChecks = {
    Check{"env.conf-files", "Does NCCL read its files as they are meant?", check_conf,
          "Reads NCCL_CONF_FILE (or ~/.nccl.conf) and /etc/nccl.conf. NCCL splits each line at its "
          "first '=' and keeps blanks; a variable of the environment wins over a file."},
    Check{"env.quotes", "Are there quotes inside of values?", check_quotes,
          "Looks at NCCL_, FI_, OFI_NCCL_ and FABRAIL_ variables and LD_LIBRARY_PATH for values "
          "that begin and end with a quote."},
    Check{"env.nccl-net", "Does NCCL_NET name the plugin's network?", check_net,
          "fabrail answers to fabrail, AWS Libfabric, Libfabric and OFI; aws-ofi-nccl to the last "
          "three (before 1.12 to AWS Libfabric only). Case does not matter."},
    Check{"env.nccl-net-unset", "Would a failure of the plugin be noticed?", check_pinned,
          "With NCCL_NET set to the plugin's network, NCCL ends with an error instead of falling "
          "back to sockets."},
    Check{"env.dead-paths", "Do folders in LD_LIBRARY_PATH exist?", check_dead_paths,
          "Looks at folders whose name has to do with networks (amazon, efa, ofi, nccl, libfabric, "
          "rdma). Others, such as /usr/local/nvidia/lib, are absent in many good images."},
    Check{"env.topology-file", "Does NCCL_TOPO_FILE fit this machine?", check_topology,
          "Compares the bus ids of GPUs in the file with the PCI bus, and counts its elements."},
    Check{
        "env.graph-file", "Is NCCL_GRAPH_FILE set?", check_graph_file,
        "A file of fixed rings and trees should not be set on machines that it was not made for."},
    Check{"env.socket-interface", "Does NCCL_SOCKET_IFNAME leave an interface?", check_interfaces,
          "Applies NCCL's rule (beginnings of names; = whole names; ^ all but these) to the "
          "interfaces in /sys/class/net that are up."},
    Check{"env.efa-interface", "Does FI_EFA_IFACE name devices that exist?", check_iface,
          "Compares the list with the EFA devices in /sys/class/infiniband."},
    Check{"env.fabrail", "Are fabrail's own settings valid?", check_own,
          "Parses FABRAIL_ variables with the plugin's own table."},
};

}  // namespace

std::span<const Check> environment_checks() { return kChecks; }

}  // namespace fabrail::doctor
