// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on the way from the PCI function to a verbs device that this process may open.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/emulation.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

bool has_efa_function(const Survey& survey) { return !survey.hardware.efa_functions().empty(); }

Findings check_driver(const Survey& survey) {
  if (!has_efa_function(survey) || has_emulated_nics(survey.system)) return {};
  if (!has_module(survey.system, "efa")) {
    return broken("EFA NICs are attached, but the kernel module efa is not loaded",
                  "Without it libfabric sees no NIC and NCCL falls back to sockets.",
                  "Load it (modprobe efa). If there is none for this kernel, run the EFA installer "
                  "on the host; a container cannot bring it.");
  }
  const auto& version = survey.hardware.efa_driver;
  const bool newest_nics = survey.type != nullptr && survey.type->efa_generation >= 4;
  if (newest_nics && older_than(version, 2, 13, 0)) {
    return warning(fmt::format("efa driver {} on {}", version->text, survey.hardware.product),
                   "Drivers before 2.13 report 100 Gb/s for NICs of 400 Gb/s, so NCCL plans with a "
                   "quarter of the bandwidth.",
                   "Update the EFA installer on the host.");
  }
  return fine(version ? fmt::format("efa driver {}", version->text)
                      : "efa driver of the kernel itself (no version of its own)");
}

Findings check_verbs_core(const Survey& survey) {
  if (!has_efa_function(survey) || !has_module(survey.system, "efa")) return {};
  if (has_module(survey.system, "ib_uverbs") ||
      survey.system.exists("/sys/class/infiniband_verbs")) {
    return fine("ib_uverbs is loaded");
  }
  return broken("the kernel module ib_uverbs is not loaded",
                "User space reaches NICs through it: without it no program can open EFA.",
                "Load it on the host: modprobe ib_uverbs.");
}

Findings check_verbs_devices(const Survey& survey) {
  const std::size_t functions = survey.hardware.efa_functions().size();
  if (functions == 0 || !has_module(survey.system, "efa")) return {};
  const std::size_t devices = survey.hardware.efa_devices().size();
  const std::string fact = fmt::format("{} of {} EFA NICs have a verbs device", devices, functions);
  if (devices >= functions) return fine(fact);
  constexpr const char* kWhy = "A NIC without a device in /sys/class/infiniband cannot be used.";
  constexpr const char* kAction =
      "Look for efa in the kernel log: the driver did not start these NICs, or they belong to "
      "another network namespace (`rdma system` says whether devices are shared).";
  return devices == 0 ? broken(fact, kWhy, kAction) : warning(fact, kWhy, kAction);
}

/// EFA devices whose node in /dev/infiniband is there, or is not.
std::vector<std::string> names_where(const std::vector<VerbsDevice>& devices,
                                     bool (*holds)(const VerbsDevice&)) {
  std::vector<std::string> names;
  for (const VerbsDevice& device : devices) {
    if (holds(device)) names.push_back(device.name);
  }
  return names;
}

Findings check_nodes(const Survey& survey) {
  const auto devices = survey.hardware.efa_devices();
  if (devices.empty() || !survey.system.exists("/sys/class/infiniband_verbs")) return {};
  if (has_emulated_nics(survey.system)) return {};
  const auto missing =
      names_where(devices, [](const VerbsDevice& device) { return !device.node_exists; });
  if (missing.empty()) {
    return fine(fmt::format("{} of {} EFA devices have a node in /dev/infiniband", devices.size(),
                            devices.size()));
  }
  if (missing.size() == devices.size()) {
    return broken(
        fmt::format("/sys shows {}, but /dev/infiniband has no node for any of them",
                    counted(devices.size(), "EFA device")),
        "This is a container that was not given the devices. libfabric then finds no EFA "
        "(fi_getinfo: No data available, -61) and NCCL falls back to sockets.",
        "Docker: --device=/dev/infiniband/uverbs0 and so on, one for each. Kubernetes: request "
        "vpc.amazonaws.com/efa in the pod. Slurm with enroot: mount /dev/infiniband.");
  }
  return warning(fmt::format("{} of {} EFA devices have no node in /dev/infiniband: {}",
                             missing.size(), devices.size(), list_of(missing)),
                 "The job uses only the others. Peers with another number of NICs may refuse the "
                 "connection, and bandwidth shrinks.",
                 "Give the container all of them, or the same number on every node.");
}

/// Devices with a node that cannot be opened, with the reason of the first.
std::string unopenable(const std::vector<VerbsDevice>& devices, bool efa, std::size_t& count) {
  std::vector<std::string> names;
  int error = 0;
  for (const VerbsDevice& device : devices) {
    if (device.efa != efa || !device.node_exists || device.open_error == 0) continue;
    names.push_back(fmt::format("{} ({})", device.name, device.node));
    if (error == 0) error = device.open_error;
  }
  count = names.size();
  return fmt::format("{}: {}", list_of(names, 3), std::strerror(error));
}

Findings check_openable(const Survey& survey) {
  const auto devices = survey.hardware.efa_devices();
  const auto present =
      names_where(devices, [](const VerbsDevice& device) { return device.node_exists; });
  if (present.empty()) return {};
  std::size_t count = 0;
  const std::string names = unopenable(devices, true, count);
  if (count == 0)
    return fine(fmt::format("{} can be opened", counted(present.size(), "EFA device")));
  const std::string fact = fmt::format("cannot open {}", names);
  constexpr const char* kWhy =
      "The node is there, but this process may not use it: libfabric leaves the NIC out or fails.";
  constexpr const char* kAction =
      "In a container a device must be allowed, not only mounted: pass it with --device or the EFA "
      "device plugin instead of a host path. On a host check the file's permissions.";
  return count == present.size() ? broken(fact, kWhy, kAction) : warning(fact, kWhy, kAction);
}

Findings check_foreign(const Survey& survey) {
  if (survey.hardware.efa_devices().empty()) return {};
  std::size_t count = 0;
  const std::string names = unopenable(survey.hardware.verbs, false, count);
  if (count > 0) {
    return broken(
        fmt::format("a verbs device that is not EFA cannot be opened: {}", names),
        "libfabric before its fix of August 2026 then drops its whole list of EFA devices "
        "(`provider efa output empty list`, -61) and NCCL goes to TCP without a word.",
        "Do not mount /dev/infiniband from the host: let the EFA device plugin pass the devices of "
        "the job (0.5.10 or later on p6-b200).");
  }
  const auto others =
      names_where(survey.hardware.verbs, [](const VerbsDevice& device) { return !device.efa; });
  if (others.empty()) return fine("no verbs devices other than EFA");
  return fine(fmt::format("{} beside EFA, not in the way: {}",
                          counted(others.size(), "other verbs device"), list_of(others)));
}

Findings check_stale_nodes(const Survey& survey) {
  const auto& hardware = survey.hardware;
  if (hardware.efa_functions().empty() || hardware.nodes.size() <= hardware.verbs.size()) return {};
  return note(fmt::format("/dev/infiniband has {}, /sys knows {}",
                          counted(hardware.nodes.size(), "uverbs node"),
                          counted(hardware.verbs.size(), "device")),
              "Nodes that nothing stands behind are harmless, but show that the folder was copied "
              "or mounted from elsewhere.");
}

/// Names of the driver's counters of commands that the device refused.
constexpr std::array kRefusals = {"reg_mr_err", "create_qp_err", "create_cq_err", "alloc_pd_err",
                                  "create_ah_err"};

Findings check_resources(const Survey& survey) {
  std::vector<std::string> refused;
  for (const VerbsDevice& device : survey.hardware.efa_devices()) {
    for (const char* name : kRefusals) {
      const auto count = to_number(
          survey.system
              .line(fmt::format("/sys/class/infiniband/{}/hw_counters/{}", device.name, name))
              .value_or("0"));
      if (count.value_or(0) > 0)
        refused.push_back(fmt::format("{} {} {}", device.name, name, *count));
    }
  }
  if (refused.empty()) return {};
  return note(
      fmt::format("NICs have refused commands since boot: {}", list_of(refused, 3)),
      "A NIC holds 256 queue pairs and a limited number of registered regions and pages. Some "
      "refusals are libfabric's own probing at start.",
      "If jobs fail with error -12, use larger pages or fewer, larger registrations.");
}

/// Source  libfabric's issue tracker: 256 for each EFA device, no misconfiguration.
constexpr std::uint64_t kMostQueuePairs = 256;
constexpr std::uint64_t kNearlyAllQueuePairs = kMostQueuePairs * 9 / 10;

Findings check_queue_pairs(const Survey& survey) {
  std::vector<std::string> full;
  std::uint64_t most = 0;
  std::uint64_t regions = 0;
  for (const DeviceResources& used : survey.hardware.resources) {
    const auto devices = survey.hardware.efa_devices();
    if (std::none_of(devices.begin(), devices.end(),
                     [&](const VerbsDevice& one) { return one.name == used.device; }))
      continue;
    most = std::max(most, used.queue_pairs);
    regions = std::max(regions, used.regions);
    if (used.queue_pairs >= kNearlyAllQueuePairs)
      full.push_back(fmt::format("{} ({} of {})", used.device, used.queue_pairs, kMostQueuePairs));
  }
  if (most == 0) return {};
  if (full.empty()) {
    return fine(fmt::format("at most {} of {} queue pairs and {} of a NIC are in use", most,
                            kMostQueuePairs, counted(regions, "memory region")));
  }
  return warning(fmt::format("nearly all queue pairs are in use: {}", list_of(full)),
                 "An EFA NIC has 256 of them for all processes of the machine; the next job fails "
                 "with -12 (ENOMEM) when it opens an endpoint.",
                 "Look for jobs that were left over (rdma resource show qp), or start fewer ranks "
                 "for each NIC.");
}

Findings check_libfabric(const Survey& survey) {
  const FabricOffer& offer = survey.hardware.fabric;
  if (!offer.answered) return {};
  const std::size_t wanted = survey.hardware.efa_functions().size();
  const std::size_t offered = offer.nics.size();
  if (offered >= wanted)
    return fine(fmt::format("libfabric {} offers {}", offer.version, counted(offered, "EFA NIC")));
  constexpr const char* kWhy =
      "NCCL's plugins take their NICs from libfabric; what it does not offer carries nothing.";
  constexpr const char* kAction =
      "Look at the findings above; without one, FI_LOG_LEVEL=warn fi_info -p efa says more.";
  if (offered != 0) {
    return warning(
        fmt::format("libfabric {} offers {} of {} EFA NICs", offer.version, offered, wanted), kWhy,
        kAction);
  }
  return broken(fmt::format("libfabric {} offers none of {}: {}", offer.version,
                            counted(wanted, "EFA NIC"), offer.error),
                kWhy, kAction);
}

constexpr std::array kChecks = {
    Check{"efa.driver", "Is the EFA driver loaded and new enough?", check_driver,
          "Looks for /sys/module/efa and its version file. The driver that comes with the kernel "
          "has no version. Before 2.13 the driver reported 100 Gb/s for every NIC."},
    Check{"efa.verbs-core", "Is the kernel's verbs interface loaded?", check_verbs_core,
          "Looks for /sys/module/ib_uverbs or /sys/class/infiniband_verbs."},
    Check{"efa.verbs-devices", "Has every EFA NIC a verbs device?", check_verbs_devices,
          "Compares EFA functions on the PCI bus with the EFA devices in /sys/class/infiniband. "
          "Network interfaces are not looked at: in a pod they are in another namespace."},
    Check{"efa.device-nodes", "Does this container have the device nodes?", check_nodes,
          "For every EFA device of /sys/class/infiniband looks for its uverbs node in "
          "/dev/infiniband. /sys shows the devices of the host even in a container that may not "
          "use them."},
    Check{"efa.openable", "May this process open the EFA devices?", check_openable,
          "Opens each node and closes it again. A node that was mounted instead of passed is "
          "refused by the device cgroup: Operation not permitted."},
    Check{"efa.foreign-devices", "Do other verbs devices break EFA?", check_foreign,
          "p6-b200 has two verbs devices of another vendor. If their nodes are visible but cannot "
          "be opened, older libfabric gives up on all devices."},
    Check{"efa.stale-nodes", "Are there nodes without a device?", check_stale_nodes,
          "Compares the number of uverbs files in /dev/infiniband with /sys/class/infiniband."},
    Check{"efa.resources", "Have NICs refused registrations or queues?", check_resources,
          "Reads the driver's error counters (hw_counters/reg_mr_err, create_qp_err and others), "
          "which count since the driver was loaded."},
    Check{"efa.queue-pairs", "Are queue pairs and regions left on the NICs?", check_queue_pairs,
          "Asks the kernel over netlink, as `rdma resource show` does, how many queue pairs and "
          "memory regions all processes use on each EFA device. A device has 256 queue pairs; "
          "from 230 on is a warning. Nothing is asked with --root."},
    Check{"efa.libfabric", "Does libfabric see every EFA NIC?", check_libfabric,
          "Opens libfabric as the plugin does, in a child process, and counts the domains for "
          "reliable datagrams, as fi_info -p efa -t FI_EP_RDM does. Nothing is asked with --root."},
};

}  // namespace

std::span<const Check> device_checks() { return kChecks; }

}  // namespace fabrail::doctor
