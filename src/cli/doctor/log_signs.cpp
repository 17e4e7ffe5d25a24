// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Texts in logs of NCCL, its plugins and libfabric, with what they mean.
#include <array>

#include "src/cli/doctor/nccl_log.h"

namespace fabrail::doctor {

namespace {

constexpr const char* kSecurityGroup =
    "Allow all traffic in and out with the security group itself as source and target (0.0.0.0/0 "
    "does not count), and keep both machines in one subnet. Then run `fabrail pair`.";
constexpr const char* kLibraries =
    "Run fabrail doctor in the same image and environment: it names both files.";
constexpr const char* kDevices =
    "Run fabrail doctor in the container: efa.device-nodes, efa.openable and efa.foreign-devices "
    "say which.";

using enum SignKind;

constexpr std::array kSigns = {
    // Why a plugin was not used.
    SignText{kLoad, "IBVERBS_PRIVATE_", "not found",
             "libibverbs and libefa come from different builds of rdma-core.", kLibraries},
    SignText{kLoad, "FABRIC_", "not found",
             "The plugin was built for a newer libfabric than it found.", kLibraries},
    SignText{kLoad, "GLIBC", "not found", "The plugin was built on a newer system than this image.",
             kLibraries},
    SignText{kLoad, "libnccl-net", "cannot open shared object file",
             "The loader finds no plugin of that name.", kLibraries},
    SignText{kLoad, "cannot open shared object file", "",
             "A library that the plugin needs is not in the image.", kLibraries},
    SignText{kLoad, "undefined symbol", "",
             "The plugin and a library below it are of different builds.", kLibraries},
    SignText{kLoad, "provider efa output empty list", "",
             "libfabric gave up on all EFA devices because one verbs device could not be opened.",
             kDevices},
    SignText{kLoad, "ibv_open_device failed", "",
             "A verbs device may not be opened in this container.", kDevices},
    SignText{kLoad, "fi_getinfo", "No data available",
             "libfabric found no EFA device, most often because the container was not given "
             "/dev/infiniband.",
             kDevices},
    SignText{kLoad, "Only EFA provider is supported", "",
             "This instance has no EFA: a type without it, or no EFA interface attached.",
             "Run fabrail doctor there; on a type without EFA there is nothing to fix."},
    SignText{kLoad, "find any optimal provider", "",
             "libfabric offered the plugin nothing that it can use: no EFA device is visible.",
             kDevices},
    SignText{kLoad, "GDR disabled on GDR-supported instance type", "",
             "NICs cannot reach GPU memory on this machine, so the plugin refused to start.",
             "Run fabrail doctor there: the gdr checks name the broken link."},
    SignText{kLoad, "set FI_OPT_E", "",
             "The libfabric at run time is older than the plugin expects.", kLibraries},
    SignText{kLoad, "nexpected group size", "",
             "The plugin found no NIC that shares a PCI level with a GPU.",
             "Use aws-ofi-nccl 1.21 or later, or fabrail."},
    SignText{kLoad, "invalid topo group size", "",
             "The plugin found no NIC that shares a PCI level with a GPU.",
             "Use aws-ofi-nccl 1.21 or later, or fabrail."},
    SignText{kLoad, "NET/gIB", "No device found",
             "The plugin of another cloud was chosen: gIB is Google's.",
             "Unset NCCL_NET and the NCCL_ENV_PLUGIN or entrypoint that sets it."},
    SignText{
        kLoadGeneric, "Failed to initialize NET plugin", "",
        "The plugin was loaded, but its start failed.",
        "The lines before it name the reason, if the plugin gave one. Run fabrail doctor there."},
    SignText{kLoadGeneric, "External network plugin", "is unsupported",
             "The plugin has no interface that this NCCL knows.",
             "Use a plugin of the age of this NCCL."},
    SignText{kLoadGeneric, "Failed to find ncclNetPlugin", "",
             "The plugin has no interface that this NCCL knows.",
             "Use a plugin of the age of this NCCL."},
    SignText{kLoadGeneric, "NET/Plugin", "Could not find",
             "The loader finds no plugin of that name, or cannot load it.", kLibraries},
    SignText{kLoadGeneric, "NET/Plugin", "No plugin found",
             "The loader finds no plugin of that name.", kLibraries},
    SignText{kLoadGeneric, "Plugin load", "returned", "The loader could not load the plugin.",
             kLibraries},
    SignText{kLoadGeneric, "aws-ofi-nccl initialization failed", "", "The plugin's start failed.",
             "The lines before it name the reason. Run fabrail doctor there."},
    // Why a job failed.
    SignText{
        kError, "Error: network ", "not found",
        "NCCL_NET names a network that no loaded plugin provides.",
        "Set NCCL_NET to the plugin's name (without quotes), or mend what keeps it from loading."},
    SignText{
        kError, "Failed to initialize any NET plugin", "",
        "NCCL_NET names a network that no loaded plugin provides.",
        "Set NCCL_NET to the plugin's name (without quotes), or mend what keeps it from loading."},
    SignText{kError, "(4112)", "", "EFA could not lock memory for its receive buffers.",
             "Raise RLIMIT_MEMLOCK of the job's processes to unlimited."},
    SignText{kError, "Unable to register memory (type = 2)", "-22",
             "NCCL 2.19 and later use memory that this libfabric cannot register.",
             "EFA installer 1.29.1 or later, or FI_EFA_SET_CUDA_SYNC_MEMOPS=0."},
    SignText{kError, "cuPointerSetAttribute", "CUDA_ERROR_NOT_SUPPORTED",
             "NCCL 2.19 and later use memory that this libfabric cannot register.",
             "EFA installer 1.29.1 or later, or FI_EFA_SET_CUDA_SYNC_MEMOPS=0."},
    SignText{kError, "Unable to register MR", "Bad address",
             "libfabric before 2.5 cannot register GPU memory on machines with 64 KiB pages.",
             "Use libfabric 2.5 or later."},
    SignText{kError, "fi_mr_regattr failed", "Operation not supported",
             "The thread that registered memory had no current CUDA context, or dma-buf is not "
             "available.",
             "Set the CUDA device in every thread that registers; run fabrail doctor: gdr.path."},
    SignText{kError, "Failed to register CUDA buffer with the EFA device", "",
             "NICs cannot reach GPU memory on this machine.",
             "Run fabrail doctor there: the gdr checks name the broken link."},
    SignText{kError, "RDMA buffer MR registration failed", "Invalid argument",
             "NICs cannot reach GPU memory: neither peer memory nor dma-buf works.",
             "Run fabrail doctor there: the gdr checks name the broken link."},
    SignText{
        kError, "Unable to register memory", "",
        "The NIC or the kernel refused a registration: too many regions, or too little lockable "
        "memory.",
        "Look at limits.memlock and efa.resources of fabrail doctor, and at the kernel log."},
    SignText{
        kError, "Cannot allocate memory", "-12",
        "One of four limits: lockable memory, queue pairs or regions of the NIC, or memory itself.",
        "Run fabrail doctor with --pid of a rank; look at the kernel log for err -12."},
    SignText{kError, "OSError: [Errno 12]", "",
             "fork() failed: huge pages of libfabric and fork clash.",
             "Set FI_EFA_USE_HUGE_PAGE=0."},
    SignText{kError, "(4126)", "", "The peer never answered the first packet.", kSecurityGroup},
    SignText{kError, "Not a directory", "",
             "An old plugin prints EFA's code 20 as an error of files: the peer cannot be reached.",
             kSecurityGroup},
    SignText{kError, "RC: 21. Error: unknown error", "",
             "An old plugin prints EFA's code as is: the peer cannot be reached.", kSecurityGroup},
    SignText{kError, "insert remote address into address vector", "",
             "The peer's address could not be resolved: it cannot be reached.", kSecurityGroup},
    SignText{kError, "nreachable remote", "", "The peer cannot be reached.", kSecurityGroup},
    SignText{kError, "EHOSTUNREACH", "", "The peer cannot be reached.", kSecurityGroup},
    SignText{kError, "nresponsive remote", "",
             "The peer stopped answering: it died, or the security group keeps it away.",
             kSecurityGroup},
    SignText{kError, "Operation with NULL context completed with error", "",
             "A first packet was never answered.", kSecurityGroup},
    SignText{kError, "nvalid receiver queue pair number", "",
             "The peer's process is gone: often killed for lack of memory.",
             "Look at the peer's host for exit code 137 and the kernel log."},
    SignText{
        kError, "number of remote rails", "",
        "Two nodes group their NICs differently: one has fewer EFA devices.",
        "Give every node the same number; OFI_NCCL_FORCE_NUM_RAILS for aws-ofi-nccl. fabrail uses "
        "what both have."},
    SignText{kError, "Invalid address", "ompleted with error",
             "A peer touched memory that is no longer registered; NCCL 2.21 to 2.23 then hang.",
             "Update plugin and NCCL; set an abort option (FABRAIL_ABORT_ON_ERROR)."},
    SignText{kError, "Attribute arch of node cpu not found", "",
             "A topology file lists devices that this process does not see.",
             "Unset NCCL_TOPO_FILE; aws-ofi-nccl 1.11 or later."},
    SignText{kError, "too many XML nodes", "", "The topology is larger than this NCCL can hold.",
             "Update NCCL, or give it a topology file without leaf devices."},
    SignText{kError, "Duplicate GPU detected", "",
             "Two ranks use one GPU, or hosts look alike: also seen where the plugin was missing.",
             "Check CUDA_VISIBLE_DEVICES of each rank and that the plugin is in the image."},
    SignText{kError, "failed to extend /dev/shm/nccl-", "", "/dev/shm is full.",
             "Raise its size: --shm-size, or an emptyDir of medium Memory."},
    SignText{kError, "Bus error", "", "Often /dev/shm is full.",
             "Raise its size: --shm-size, or an emptyDir of medium Memory."},
    SignText{kError, "system not yet initialized", "",
             "CUDA does not start: libcuda does not fit the driver, or the fabric manager is down.",
             "Run fabrail doctor there: gpu.libcuda and gpu.fabric-manager."},
    SignText{kError, "NCCL Error 4: invalid argument", "",
             "aws-ofi-nccl 1.16's tuner refuses NCCL before 2.21 when NCCL_PROTO is set.",
             "Update NCCL, or set NCCL_TUNER_PLUGIN=none."},
    SignText{kError, "no socket interface found", "",
             "NCCL_SOCKET_IFNAME leaves no interface for the bootstrap.", "Unset it."},
};

}  // namespace

std::span<const SignText> log_signs() { return kSigns; }

}  // namespace fabrail::doctor
