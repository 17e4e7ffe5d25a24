// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Ways to break devices, drivers and limits.
#include <fmt/format.h>

#include <cerrno>

#include "tests/doctor/variants.h"

namespace fabrail::doctor {

namespace {

void add_nvswitch(const FakeRoot& root) {
  root.write("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
  root.write("/sys/bus/pci/devices/0000:01:00.0/class", "0x068000\n");
}

using enum Verdict;

void set_limit(const FakeRoot& root, const char* row, const char* value) {
  root.write("/proc/self/limits", fmt::format("{:<26}{:<21}{:<21}bytes\n", row, value, value));
}

const std::vector<Variant> kHardware = {
    {"NoEfaAttached",
     [](FakeRoot& root) {
       root.remove("/sys");
       root.remove("/dev/infiniband");
       make_hardware(root, {"p6-b200.48xlarge", 0, 8, ""});
     },
     "efa.count", kBroken, "0 of 8"},
    {"FewerNicsAttached",
     [](FakeRoot& root) {
       root.remove("/sys");
       root.remove("/dev/infiniband");
       make_hardware(root, {"p6-b200.48xlarge", 6, 8, "0xefa3"});
     },
     "efa.count", kWarning, "6 of 8"},
    {"EfaDriverNotLoaded",
     [](FakeRoot& root) {
       root.remove("/sys/module/efa");
       root.remove("/sys/class/infiniband");
       root.remove("/sys/class/infiniband_verbs");
       root.remove("/dev/infiniband");
     },
     "efa.driver", kBroken, "module efa is not loaded"},
    {"UverbsNotLoaded",
     [](FakeRoot& root) {
       root.remove("/sys/module/ib_uverbs");
       root.remove("/sys/class/infiniband_verbs");
       root.remove("/dev/infiniband");
     },
     "efa.verbs-core", kBroken, "ib_uverbs"},
    {"NicsWithoutVerbsDevice",
     [](FakeRoot& root) {
       for (const char* name : {"rdmap80s0", "rdmap81s0"}) {
         root.remove(fmt::format("/sys/class/infiniband/{}", name));
       }
     },
     "efa.verbs-devices", kWarning, "6 of 8"},
    {"ContainerWithoutDevices", [](FakeRoot& root) { root.remove("/dev/infiniband"); },
     "efa.device-nodes", kBroken, "no node for any of them"},
    {"ContainerWithSomeDevices",
     [](FakeRoot& root) {
       for (int i = 4; i < 8; ++i) root.remove(fmt::format("/dev/infiniband/uverbs{}", i));
     },
     "efa.device-nodes", kWarning, "4 of 8"},
    {"DevicesMountedButNotAllowed",
     [](FakeRoot& root) {
       for (int i = 0; i < 8; ++i) root.unopenable[fmt::format("uverbs{}", i)] = EPERM;
     },
     "efa.openable", kBroken, "Operation not permitted"},
    {"OneDeviceNotAllowed", [](FakeRoot& root) { root.unopenable["uverbs3"] = EACCES; },
     "efa.openable", kWarning, "uverbs3"},
    {"ForeignDeviceNotAllowed",
     [](FakeRoot& root) {
       add_foreign_device(root);
       root.unopenable["uverbs99"] = EPERM;
     },
     "efa.foreign-devices", kBroken, "ibp115s0"},
    {"OldEfaDriverOnNewNics",
     [](FakeRoot& root) {
       root.remove("/sys");
       root.remove("/dev/infiniband");
       make_hardware(root, {"p6-b200.48xlarge", 8, 8, "0xefa3"});
       root.write("/sys/module/efa/version", "2.10.0g\n");
     },
     "efa.driver", kWarning, "2.10.0g"},
    {"NvidiaDriverNotLoaded",
     [](FakeRoot& root) {
       root.remove("/sys/module/nvidia");
       root.remove("/proc/driver/nvidia");
     },
     "gpu.driver", kBroken, "no NVIDIA driver"},
    {"CompatLibraryOfSameBranch",
     [](FakeRoot& root) {
       LibrarySpec cuda;
       cuda.soname = "libcuda.so.1";
       root.library("/usr/local/cuda/compat/libcuda.so.580.105.08", cuda);
       root.link("/usr/local/cuda/compat/libcuda.so.1", "libcuda.so.580.105.08");
       root.environment["LD_LIBRARY_PATH"] += ":/usr/local/cuda/compat";
     },
     "gpu.libcuda", kBroken, "compat"},
    {"FabricManagerNotRunning",
     [](FakeRoot& root) {
       root.write("/proc/1/comm", "systemd\n");
       add_nvswitch(root);
     },
     "gpu.fabric-manager", kBroken, "nvidia-fabricmanager"},
    {"ProprietaryDriverOnNewKernel",
     [](FakeRoot& root) {
       root.write("/proc/sys/kernel/osrelease", "5.15.131-foo\n");
       root.write("/proc/driver/nvidia/version",
                  "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Thu\n");
     },
     "gdr.driver-flavour", kBroken, "proprietary"},
    {"PeermemOfOtherDriver",
     [](FakeRoot& root) {
       root.write("/var/log/dmesg",
                  "[ 9.1] efa_nv_peermem: no symbol version for nvidia_p2p_dma_unmap_pages\n");
     },
     "gdr.peermem-build", kBroken, "no symbol version"},
    {"NoPeermemAndOldKernel",
     [](FakeRoot& root) { root.write("/proc/sys/kernel/osrelease", "5.4.200-aws\n"); }, "gdr.path",
     kBroken, "kernel 5.4.200-aws is older than 5.12"},
    {"NoPeermemAndDmabufSwitchedOff",
     [](FakeRoot& root) { root.environment["OFI_NCCL_DISABLE_DMABUF"] = "1"; }, "gdr.path", kBroken,
     "OFI_NCCL_DISABLE_DMABUF=1"},
    {"OldEfaDriverWithNewNvidiaDriver",
     [](FakeRoot& root) {
       root.write("/sys/module/efa/version", "2.15.0g\n");
       root.write("/sys/module/efa_nv_peermem/refcnt", "0\n");
       root.environment["FI_HMEM_CUDA_USE_DMABUF"] = "0";
     },
     "gdr.efa-driver", kWarning, "2.15.0g"},
    {"LargePagesAndOldLibfabric",
     [](FakeRoot& root) {
       root.write("/proc/self/smaps",
                  "0-1 r-xp 0 0 0 /x\nSize: 64 kB\nKernelPageSize:       64 kB\n");
     },
     "gdr.page-size", kWarning, "64 KiB"},
    {"NoNicNearSomeGpus",
     [](FakeRoot& root) {
       root.link("/sys/bus/pci/devices/0000:47:00.0",
                 "../../../../sys/devices/pci0000:c0/0000:c0:01.0/0000:47:00.0");
       root.write("/sys/devices/pci0000:c0/0000:c0:01.0/0000:47:00.0/vendor", "0x10de\n");
       root.write("/sys/devices/pci0000:c0/0000:c0:01.0/0000:47:00.0/class", "0x030200\n");
     },
     "gdr.closeness", kWarning, "0000:47:00.0"},
};

const std::vector<Variant> kLimits = {
    {"LittleLockedMemory", [](FakeRoot& root) { set_limit(root, "Max locked memory", "67108864"); },
     "limits.memlock", kBroken, "64 MiB"},
    {"SomeLockedMemory", [](FakeRoot& root) { set_limit(root, "Max locked memory", "1073741824"); },
     "limits.memlock", kWarning, "1.0 GiB"},
    {"SmallShm",
     [](FakeRoot& root) {
       root.write("/proc/self/mounts", "shm /dev/shm tmpfs rw,nosuid,size=65536k,x 0 0\n");
     },
     "limits.shm", kWarning, "64 MiB"},
    {"HugePagesWithFork",
     [](FakeRoot& root) {
       root.write("/proc/sys/kernel/osrelease", "5.12.19-aws\n");
       root.environment["FI_EFA_USE_HUGE_PAGE"] = "1";
       root.environment["FI_EFA_FORK_SAFE"] = "1";
     },
     "limits.huge-pages", kBroken, "fork-safe"},
    {"HugePagesWithForkOnNewKernel",
     [](FakeRoot& root) {
       root.environment["FI_EFA_USE_HUGE_PAGE"] = "1";
       root.environment["FI_EFA_FORK_SAFE"] = "1";
     },
     "limits.huge-pages", kWarning, "no huge page is free"},
    {"HugePagesWithoutAny", [](FakeRoot& root) { root.environment["FI_EFA_USE_HUGE_PAGE"] = "1"; },
     "limits.huge-pages", kWarning, "no huge page is free"},
    {"SmallPod", [](FakeRoot& root) { root.write("/sys/fs/cgroup/memory.max", "8589934592\n"); },
     "limits.memory", kWarning, "8.0 GiB"},
    {"OomKill",
     [](FakeRoot& root) {
       root.write("/sys/fs/cgroup/memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 2\n");
     },
     "limits.oom-kills", kWarning, "2 times"},
    {"FewOpenFiles", [](FakeRoot& root) { set_limit(root, "Max open files", "1024"); },
     "limits.open-files", kWarning, "1024"},
    {"SmallStacks", [](FakeRoot& root) { set_limit(root, "Max stack size", "1048576"); },
     "limits.stack", kWarning, "1 MiB"},
    {"RefusedCommandInKernelLog",
     [](FakeRoot& root) {
       root.write("/var/log/dmesg",
                  "efa 0000:00:06.0: Failed to process command REG_MR (opcode 7) "
                  "comp_status 2 err -12\n");
     },
     "kernel.log", kWarning, "REG_MR"},
    {"QueuePairsUsedUp",
     [](FakeRoot& root) {
       root.rdma_resources = rdma_answer("rdmap80s0", 12) + rdma_answer("rdmap81s0", 250);
     },
     "efa.queue-pairs", kWarning, "rdmap81s0 (250 of 256)"},
    {"LibfabricOffersNothing",
     [](FakeRoot& root) { root.libfabric = "version 1.22\nerror No data available\nend\n"; },
     "efa.libfabric", kBroken, "libfabric 1.22 offers none of 8 EFA NICs: No data available"},
    {"LibfabricOffersFewer",
     [](FakeRoot& root) { root.libfabric = "version 1.22\nnic a\nnic b\nnic a\ngpu a\nend\n"; },
     "efa.libfabric", kWarning, "offers 2 of 8 EFA NICs"},
    {"NvLinkDown",
     [](FakeRoot& root) {
       root.write("/proc/1/comm", "tini\n");  // a container: not its fabric manager
       add_nvswitch(root);
       root.nvml = "gpu 0 18 18 0\ngpu 1 18 17 0\n";
     },
     "gpu.nvlink", kWarning, "GPU 1 has 17 of 18 links"},
    {"NvLinkErrors", [](FakeRoot& root) { root.nvml = "gpu 0 18 18 0\ngpu 1 18 18 41\n"; },
     "gpu.nvlink", kWarning, "GPU 1 counts 41 errors"},
    {"XidInKernelLog",
     [](FakeRoot& root) { root.write("/dev/kmsg", "6,1,2,-;NVRM: Xid (PCI:0000:53:00): 79\n"); },
     "kernel.log", kWarning, "Xid"},
};

}  // namespace

const std::vector<Variant>& hardware_variants() { return kHardware; }

const std::vector<Variant>& limit_variants() { return kLimits; }

}  // namespace fabrail::doctor
