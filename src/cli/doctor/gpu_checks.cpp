// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on the GPU's driver and on the path between NIC and GPU memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/emulation.h"
#include "src/cli/doctor/pci_layout.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr const char* kHostCopies =
    "Data then goes through host memory at a fraction of the bandwidth, or the plugin refuses to "
    "start.";

Findings check_driver(const Survey& survey) {
  const std::size_t gpus = survey.hardware.gpus().size();
  if (gpus == 0 || has_emulated_nics(survey.system)) return {};
  if (!survey.hardware.nvidia_driver) {
    return broken(
        fmt::format("{} on the bus, but no NVIDIA driver is loaded", counted(gpus, "GPU")),
        "Without it there is no CUDA.", "Install or load the NVIDIA driver on the host.");
  }
  return fine(fmt::format("NVIDIA driver {}, {} kernel modules",
                          survey.hardware.nvidia_driver->text,
                          survey.hardware.nvidia_open ? "open" : "proprietary"));
}

/// The driver version that a libcuda belongs to: "libcuda.so.580.95.05".
std::optional<Version> libcuda_version(const FoundLibrary& libcuda) {
  const auto text = between(libcuda.real, "libcuda.so.", "/");
  return text ? Version::parse(*text) : std::nullopt;
}

Findings check_compat(const Survey& survey) {
  const auto& libcuda = survey.software.libcuda;
  const auto& driver = survey.hardware.nvidia_driver;
  if (!libcuda || !driver) return {};
  const auto version = libcuda_version(*libcuda);
  if (!version) return {};
  const std::string fact = fmt::format("the loader takes {} ({}), the kernel's driver is {}",
                                       libcuda->path, libcuda->found_by, driver->text);
  if (*version == *driver) return fine(fact);
  const bool compat = contains(libcuda->real, "compat");
  if (compat && version->parts[0] > driver->parts[0]) {
    return note(fact, "A compatibility package for a newer CUDA is in use: data-centre GPUs only.");
  }
  return broken(fact,
                "libcuda and the kernel's driver must be of one version, or the compatibility "
                "package of a newer major version. Otherwise CUDA fails with `system not yet "
                "initialized` or similar, far from the cause.",
                compat ? "Take the compat folder out of LD_LIBRARY_PATH and ld.so.conf."
                       : "Let the container toolkit mount the host's libcuda; remove the image's.");
}

/// Since these patch releases a proprietary module may no longer use the kernel's interface for
/// peer memory.
struct KernelSeries {
  int major, minor, patch;
};
constexpr std::array kGplOnlySince = {KernelSeries{4, 14, 326}, KernelSeries{5, 4, 257},
                                      KernelSeries{5, 10, 195}, KernelSeries{5, 15, 131},
                                      KernelSeries{6, 1, 52}};

bool refuses_proprietary(const Version& kernel) {
  return std::any_of(kGplOnlySince.begin(), kGplOnlySince.end(), [&](const KernelSeries& series) {
    return kernel.parts[0] == series.major && kernel.parts[1] == series.minor &&
           kernel.parts[2] >= series.patch;
  });
}

/// Whether there is a reason to look at GPUDirect at all.
bool concerns_gpudirect(const Survey& survey) {
  return survey.expects_gpudirect() && survey.hardware.nvidia_driver.has_value() &&
         !survey.hardware.efa_devices().empty();
}

bool proprietary_on_gpl_kernel(const Survey& survey) {
  return survey.hardware.kernel && !survey.hardware.nvidia_open &&
         refuses_proprietary(*survey.hardware.kernel);
}

Findings check_flavour(const Survey& survey) {
  if (!concerns_gpudirect(survey) || !survey.hardware.kernel) return {};
  const std::string fact = fmt::format("{} NVIDIA kernel modules on kernel {}",
                                       survey.hardware.nvidia_open ? "open" : "proprietary",
                                       survey.hardware.kernel->text);
  if (!proprietary_on_gpl_kernel(survey)) return fine(fact);
  return broken(fact,
                "From 4.14.326, 5.4.257, 5.10.195, 5.15.131 and 6.1.52 on these kernel series keep "
                "proprietary modules from GPUDirect RDMA.",
                "Install NVIDIA's open kernel modules and EFA installer 1.29.0 or later on the "
                "host.");
}

constexpr const char* kMissingSymbol = "no symbol version for nvidia_p2p";

Findings check_peermem_build(const Survey& survey) {
  if (!contains(survey.hardware.kernel_log, kMissingSymbol)) return {};
  return broken("the kernel log says: efa_nv_peermem: no symbol version for nvidia_p2p_...",
                "The module was built against another NVIDIA driver than the one that is loaded, "
                "so NICs cannot reach GPU memory through it.",
                "Rebuild it (run the EFA installer again after the driver's installation) and load "
                "it at boot: modprobe efa_nv_peermem.");
}

/// What keeps registrations through dma-buf from working; none if nothing does.
std::vector<std::string> dmabuf_obstacles(const Survey& survey) {
  std::vector<std::string> obstacles;
  const Hardware& hardware = survey.hardware;
  if (older_than(hardware.kernel, 5, 12)) {
    obstacles.push_back(fmt::format("kernel {} is older than 5.12", hardware.kernel->text));
  }
  if (!hardware.nvidia_open) obstacles.push_back("the NVIDIA kernel modules are proprietary");
  if (older_than(survey.software.libfabric_version(), 1, 20)) {
    obstacles.push_back(
        fmt::format("libfabric {} is older than 1.20", survey.software.libfabric_version()->text));
  }
  if (survey.settings.is_on("OFI_NCCL_DISABLE_DMABUF")) {
    obstacles.push_back(survey.settings.shown("OFI_NCCL_DISABLE_DMABUF"));
  }
  if (survey.settings.value("FI_HMEM_CUDA_USE_DMABUF") == "0") {
    obstacles.push_back(survey.settings.shown("FI_HMEM_CUDA_USE_DMABUF"));
  }
  return obstacles;
}

/// The peer memory path: the EFA driver registered with NVIDIA's, or a module that joins them.
std::string peer_memory(const Survey& survey) {
  if (has_module(survey.system, "efa_nv_peermem")) return "efa_nv_peermem";
  for (const VerbsDevice& device : survey.hardware.efa_devices()) {
    if (device.p2p && !device.p2p->empty()) return fmt::format("the EFA driver ({})", *device.p2p);
  }
  return "";
}

Findings check_path(const Survey& survey) {
  if (!concerns_gpudirect(survey) || proprietary_on_gpl_kernel(survey)) return {};
  if (contains(survey.hardware.kernel_log, kMissingSymbol)) return {};
  const auto obstacles = dmabuf_obstacles(survey);
  const std::string peer = peer_memory(survey);
  if (obstacles.empty()) {
    return fine(peer.empty() ? "through dma-buf" : fmt::format("through dma-buf, or {}", peer));
  }
  if (!peer.empty())
    return fine(fmt::format("through {}; not dma-buf: {}", peer, obstacles.front()));
  return broken(
      fmt::format(
          "no way from NICs to GPU memory: no peer memory module, and no dma-buf because {}",
          join(obstacles, ", and ")),
      kHostCopies,
      "Either load efa_nv_peermem on the host (it comes with the EFA installer), or remove what "
      "stands against dma-buf.");
}

Findings check_efa_driver(const Survey& survey) {
  if (!concerns_gpudirect(survey) || !older_than(survey.hardware.efa_driver, 2, 17, 3)) return {};
  if (survey.hardware.nvidia_driver->parts[0] < 580 || dmabuf_obstacles(survey).empty()) return {};
  return warning(fmt::format("efa driver {} with NVIDIA driver {}",
                             survey.hardware.efa_driver->text, survey.hardware.nvidia_driver->text),
                 "NVIDIA drivers from 580 on need efa 2.17.3 or later for peer memory.",
                 "Update the EFA installer on the host.");
}

Findings check_page_size(const Survey& survey) {
  if (!concerns_gpudirect(survey)) return {};
  const auto text =
      between(survey.system.read("/proc/self/smaps", 4096).value_or(""), "KernelPageSize:", "kB");
  const auto kib = to_number(trim(text.value_or("")));
  if (!kib || *kib <= 4 || !older_than(survey.software.libfabric_version(), 2, 5)) return {};
  return warning(fmt::format("pages of {} KiB with libfabric {}", *kib,
                             survey.software.libfabric_version()->text),
                 "libfabric before 2.5 registers GPU memory the old way for some requests, which "
                 "cannot work with pages this large (`Unable to register MR: Bad address`).",
                 "Use libfabric 2.5 or later.");
}

bool is_host(const Survey& survey) {
  const std::string first = survey.system.line("/proc/1/comm").value_or("");
  return first == "systemd" || first == "init";
}

bool runs_process(const Survey& survey, std::string_view prefix) {
  for (const std::string& pid : survey.system.list("/proc")) {
    if (!to_number(pid)) continue;
    if (survey.system.line("/proc/" + pid + "/comm").value_or("").starts_with(prefix)) return true;
  }
  return false;
}

Findings check_fabric_manager(const Survey& survey) {
  const auto& functions = survey.hardware.functions;
  const bool switches = std::any_of(functions.begin(), functions.end(),
                                    [](const PciFunction& one) { return one.is_nvswitch(); });
  if (!switches || !is_host(survey)) return {};
  if (runs_process(survey, "nv-fabricmanage")) return fine("the fabric manager is running");
  return broken("NVSwitches are there, but nvidia-fabricmanager is not running",
                "CUDA does not start on such machines without it (`system not yet initialized`).",
                "systemctl enable --now nvidia-fabricmanager (of the driver's exact version).");
}

// Where there are NVSwitches every link of every GPU leads to one. Elsewhere some may lead nowhere.
Findings check_nvlinks(const Survey& survey) {
  const auto& functions = survey.hardware.functions;
  const bool switches = std::any_of(functions.begin(), functions.end(),
                                    [](const PciFunction& one) { return one.is_nvswitch(); });
  std::vector<std::string> bad;
  unsigned least = 0;
  for (const NvLinks& one : survey.hardware.nvlinks) {
    if (!switches && one.active == 0) continue;
    least = least == 0 ? one.active : std::min(least, one.active);
    if (switches && one.active < one.links) {
      bad.push_back(fmt::format("GPU {} has {} of {} links", one.gpu, one.active, one.links));
    } else if (one.errors != 0) {
      bad.push_back(fmt::format("GPU {} counts {}", one.gpu, counted(one.errors, "error")));
    }
  }
  if (bad.empty() && least == 0) return {};
  if (bad.empty())
    return fine(fmt::format("NVLink: {} on each GPU that has any, no replays or recoveries",
                            counted(least, "active link")));
  return warning(fmt::format("NVLink: {}", list_of(bad)),
                 "Collectives wait for the slowest link; a GPU without any uses the network.",
                 "See nvidia-smi nvlink -s and -e, and the Xids in the kernel log. Reset the GPU, "
                 "or have the instance replaced.");
}

Findings check_gpu_memory(const Survey& survey) {
  const FabricOffer& offer = survey.hardware.fabric;
  if (!survey.expects_gpudirect() || !offer.answered || offer.nics.empty()) return {};
  const std::size_t offered = offer.nics_with_gpu_memory.size();
  if (offered != 0)
    return fine(fmt::format("libfabric offers {} for GPU memory", counted(offered, "EFA NIC")));
  return note("libfabric offers no NIC for GPU memory (FI_HMEM)",
              "It was built without CUDA, or its trial registration failed.",
              "fabrail then needs efa-direct (libfabric 2.1) and dma-buf or peer memory; other "
              "plugins copy through host memory. The EFA installer's libfabric has CUDA.");
}

Findings check_closeness(const Survey& survey) {
  if (!survey.expects_gpudirect() || survey.hardware.efa_functions().empty()) return {};
  if (!std::string_view(survey.type->name).starts_with("p"))
    return {};  // how g7e is laid out is not known
  const auto far = gpus_far_from_nics(survey.hardware);
  if (far.empty()) return fine("every GPU has an EFA NIC under its own PCI root");
  return warning(fmt::format("no EFA NIC under the PCI root of {}: {}", counted(far.size(), "GPU"),
                             list_of(far)),
                 "NCCL turns GPUDirect off for GPUs whose nearest NIC is behind another root.",
                 "Attach the missing NICs. If all are attached, the machine hides its PCI tree: "
                 "give NCCL a topology file.");
}

Findings check_acs(const Survey& survey) {
  if (survey.hardware.ec2 || survey.hardware.gpus().empty()) return {};
  const auto bridges = bridges_with_acs(survey.system, survey.hardware);
  if (bridges.empty()) return {};
  return warning(fmt::format("ACS is on in {} above GPUs: {}", counted(bridges.size(), "bridge"),
                             list_of(bridges)),
                 "It sends traffic between NIC and GPU up to the root complex and back.",
                 "Turn ACS off on these bridges (setpci) or in the firmware.");
}

Findings check_iommu(const Survey& survey) {
  if (survey.hardware.ec2 || survey.hardware.gpus().empty()) return {};
  const std::string line = survey.system.line("/proc/cmdline").value_or("");
  const auto options = words(line);
  const auto has = [&](const char* option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  if (!has("intel_iommu=on") && !has("amd_iommu=on")) return {};
  if (has("iommu=pt")) return fine("the IOMMU passes through (iommu=pt)");
  return warning("the IOMMU translates all device accesses",
                 "Traffic between NIC and GPU then detours through it, or is blocked.",
                 "Boot with iommu=pt, or without an IOMMU.");
}

Findings check_numa(const Survey& survey) {
  const bool several = survey.system.exists("/sys/devices/system/node/node1");
  std::vector<std::string> nowhere;
  for (const PciFunction& nic : survey.hardware.efa_functions()) {
    if (nic.numa_node < 0) nowhere.push_back(nic.address);
  }
  if (!several || nowhere.empty()) return {};
  return note(fmt::format("{} without a NUMA node: {}", counted(nowhere.size(), "EFA NIC"),
                          list_of(nowhere)),
              "Old plugins (aws-ofi-nccl before 1.15) have crashed on such machines; memory may be "
              "placed far from the NIC.");
}

constexpr std::array kChecks = {
    Check{"gpu.driver", "Is the NVIDIA driver loaded?", check_driver,
          "Counts NVIDIA display functions on the PCI bus; reads /sys/module/nvidia/version and "
          "/proc/driver/nvidia/version, which says whether the modules are the open ones."},
    Check{"gpu.libcuda", "Does libcuda fit the driver?", check_compat,
          "Finds libcuda.so.1 as the loader does and compares the version in its file name with "
          "the loaded kernel module. A compat folder may only bring a newer major version."},
    Check{"gpu.fabric-manager", "Is the fabric manager running?", check_fabric_manager,
          "Only on a host (process 1 is systemd or init) with NVSwitches on the PCI bus: looks for "
          "the process nv-fabricmanager."},
    Check{
        "gpu.nvlink", "Are all NVLinks up?", check_nvlinks,
        "Asks NVML for the state and the error counters of every link, as nvidia-smi nvlink -s and "
        "-e do, and compares the GPUs. Nothing is asked with --root."},
    Check{"gdr.driver-flavour", "Does this kernel allow GPUDirect with this driver?", check_flavour,
          "Compares the kernel's version with the list of patch releases since which proprietary "
          "modules are refused. The test is by series: 6.8 is not older than 6.1.52."},
    Check{"gdr.peermem-build", "Does efa_nv_peermem fit the driver?", check_peermem_build,
          "Looks for `no symbol version for nvidia_p2p` in the kernel log."},
    Check{"gdr.path", "By which path do NICs reach GPU memory?", check_path,
          "Two ways: peer memory (module efa_nv_peermem, or the EFA driver's p2p file under "
          "/sys/class/infiniband/*/device names a provider) or dma-buf (kernel 5.12 or any 6.x, "
          "open NVIDIA modules, libfabric 1.20, not switched off). One is enough."},
    Check{"gdr.efa-driver", "Does the EFA driver know this NVIDIA driver?", check_efa_driver,
          "NVIDIA 580 and later need efa 2.17.3 for peer memory; with dma-buf it does not matter."},
    Check{"gdr.libfabric", "Does libfabric offer NICs for GPU memory?", check_gpu_memory,
          "As efa.libfabric, with FI_HMEM: fi_info -p efa -t FI_EP_RDM -c FI_HMEM."},
    Check{"gdr.page-size", "Can this libfabric register GPU memory with these pages?",
          check_page_size,
          "Reads the page size from /proc/self/smaps. With 64 KiB pages (Grace) the legacy "
          "registration path fails before libfabric 2.5."},
    Check{"gdr.closeness", "Is there a NIC near every GPU?", check_closeness,
          "Compares the PCI roots in the /sys paths of GPUs and EFA NICs."},
    Check{"gdr.numa", "Do NICs have a NUMA node?", check_numa,
          "Reads numa_node of every EFA NIC on machines with more than one node."},
    Check{"pci.iommu", "Does an IOMMU detour peer traffic?", check_iommu,
          "Only outside of EC2: looks for intel_iommu=on or amd_iommu=on without iommu=pt in "
          "/proc/cmdline."},
    Check{"pci.acs", "Do bridges detour peer traffic?", check_acs,
          "Only outside of EC2: reads the ACS control register in the configuration space of the "
          "bridges above GPUs, which needs root."},
};

}  // namespace

std::span<const Check> gpu_checks() { return kChecks; }

}  // namespace fabrail::doctor
