// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Changes to the healthy machine that deserve a remark, not an alarm.
#include <fmt/format.h>

#include "tests/doctor/variants.h"

namespace fabrail::doctor {

namespace {

/// So many NICs, as libfabric answers.
std::string offer_of(int nics) {
  std::string answer = "version 1.22\n";
  for (int nic = 0; nic < nics; ++nic) answer += "nic a" + std::to_string(nic) + "\n";
  return answer;
}

using enum Verdict;

const std::vector<Variant> kRemarks = {
    {"NetworkNotPinned", [](FakeRoot& root) { root.environment.erase("NCCL_NET"); },
     "env.nccl-net-unset", kInfo, "NCCL_NET is not set"},
    {"TypeWithoutGpudirect",
     [](FakeRoot& root) {
       root.remove("/sys");
       root.remove("/dev/infiniband");
       make_hardware(root, {"g6e.48xlarge", 4, 8, "0xefa1"});
     },
     "instance.gpudirect", kInfo, "no GPUDirect RDMA"},
    {"UnknownTypeWithEfa",
     [](FakeRoot& root) { root.write("/sys/devices/virtual/dmi/id/product_name", "p9.metal\n"); },
     "instance.type", kInfo, "p9.metal"},
    {"NicsWithoutNumaNode",
     [](FakeRoot& root) {
       root.write("/sys/devices/system/node/node1/cpulist", "48-95\n");
       const std::string path = root.system().resolve("/sys/class/infiniband/rdmap80s0").value();
       root.write(path + "/device/numa_node", "-1\n");
     },
     "gdr.numa", kInfo, "1 EFA NIC"},
    {"RefusalsOfNics",
     [](FakeRoot& root) {
       const std::string path = root.system().resolve("/sys/class/infiniband/rdmap81s0").value();
       root.write(path + "/hw_counters/reg_mr_err", "17\n");
     },
     "efa.resources", kInfo, "rdmap81s0 reg_mr_err 17"},
    {"QueuePairsInUse", [](FakeRoot& root) { root.rdma_resources = rdma_answer("rdmap80s0", 12); },
     "efa.queue-pairs", kOk, "at most 12 of 256 queue pairs and 1000 memory regions"},
    {"LibfabricHasNicsForGpuMemory",
     [](FakeRoot& root) { root.libfabric = offer_of(8) + "gpu a0\ngpu a1\nend\n"; },
     "gdr.libfabric", kOk, "libfabric offers 2 EFA NICs for GPU memory"},
    {"LibfabricHasNoneForGpuMemory", [](FakeRoot& root) { root.libfabric = offer_of(8) + "end\n"; },
     "gdr.libfabric", kInfo, "no NIC for GPU memory"},
    {"CardsWithoutBridge",
     [](FakeRoot& root) { root.nvml = "gpu 0 4 4 0\ngpu 1 4 4 0\ngpu 2 4 0 0\n"; }, "gpu.nvlink",
     kOk, "4 active links"},
    {"NvLinksUp", [](FakeRoot& root) { root.nvml = "gpu 0 18 18 0\ngpu 1 18 18 0\n"; },
     "gpu.nvlink", kOk, "18 active links on each GPU that has any"},
    {"QueuePairsOfAnotherDevice",
     [](FakeRoot& root) {
       root.rdma_resources = rdma_answer("mlx5_0", 4000) + rdma_answer("rdmap80s0", 1);
     },
     "efa.queue-pairs", kOk, "at most 1 of 256"},
    {"DamagedAnswerOfTheKernel",
     [](FakeRoot& root) {
       root.rdma_resources = rdma_answer("rdmap80s0", 12) + rdma_answer("rdmap81s0", 250);
       root.rdma_resources.resize(root.rdma_resources.size() - 10);
     },
     "efa.queue-pairs", kOk, "at most 12 of 256"},
    {"NodesWithoutDevices", [](FakeRoot& root) { root.write("/dev/infiniband/uverbs50", ""); },
     "efa.stale-nodes", kInfo, "9 uverbs nodes"},
    {"LeakingPlugin",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.16.3");
       use_nccl(root, "2.27.7");
     },
     "versions.leaks", kInfo, "1.16.3"},
    {"NcclThatLosesErrors",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.17.3");
       use_nccl(root, "2.22.3");
     },
     "versions.async-errors", kInfo, "2.22.3"},
    {"ChannelsOnSlingshot",
     [](FakeRoot& root) {
       root.write("/sys/class/cxi/cxi0/x", "");
       root.environment["FI_MR_CACHE_MONITOR"] = "userfaultfd";
       root.environment["FI_CXI_DISABLE_HOST_REGISTER"] = "1";
       root.environment["FI_CXI_DEFAULT_CQ_SIZE"] = "131072";
       root.environment["NCCL_MAX_NCHANNELS"] = "32";
     },
     "env.slingshot-channels", kInfo, "32"},
    {"SomeEfaInterfaces",
     [](FakeRoot& root) { root.environment["FI_EFA_IFACE"] = "rdmap80s0,rdmap81s0"; },
     "env.efa-interface", kInfo, "2 of 8"},
    {"DeviceRdmaNotNeeded",
     [](FakeRoot& root) { root.environment["FI_EFA_USE_DEVICE_RDMA"] = "1"; }, "env.device-rdma",
     kInfo, "=1"},
    {"UnknownOwnSetting", [](FakeRoot& root) { root.environment["FABRAIL_RIALS"] = "4"; },
     "env.fabrail", kInfo, "FABRAIL_RIALS"},
    {"UnusedPluginOfOtherKind",
     [](FakeRoot& root) {
       LibrarySpec spec;
       spec.soname = "libnccl-net.so.0";
       spec.defined = {"ncclNetPlugin_v8"};
       root.library("/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so", spec);
     },
     "plugin.copies", kInfo, "/opt/hpcx"},
    {"FirewallDropsByDefault",
     [](FakeRoot& root) { root.write("/etc/iptables/rules.v4", "*filter\n:INPUT DROP [0:0]\n"); },
     "network.firewall", kInfo, "/etc/iptables/rules.v4"},
    {"LogoutRemovesSharedMemory",
     [](FakeRoot& root) { root.write("/etc/systemd/logind.conf", "[Login]\nRemoveIPC=yes\n"); },
     "limits.remove-ipc", kInfo, "RemoveIPC"},
    {"NewerCompatPackage",
     [](FakeRoot& root) {
       LibrarySpec cuda;
       cuda.soname = "libcuda.so.1";
       root.library("/usr/local/cuda/compat/libcuda.so.590.44.01", cuda);
       root.link("/usr/local/cuda/compat/libcuda.so.1", "libcuda.so.590.44.01");
       root.environment["LD_LIBRARY_PATH"] += ":/usr/local/cuda/compat";
     },
     "gpu.libcuda", kInfo, "compat"},
    {"ImageWithoutCache",
     [](FakeRoot& root) {
       root.remove("/sys");
       root.remove("/proc");
       root.remove("/dev");
       root.remove("/etc/ld.so.cache");
     },
     "lib.cache", kInfo, "no /etc/ld.so.cache"},
};

}  // namespace

const std::vector<Variant>& remark_variants() { return kRemarks; }

}  // namespace fabrail::doctor
