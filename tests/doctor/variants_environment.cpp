// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Ways to break settings.
#include <fmt/format.h>

#include "tests/doctor/variants.h"

namespace fabrail::doctor {

namespace {

using enum Verdict;

std::function<void(FakeRoot&)> setting(const char* name, const char* value) {
  return [=](FakeRoot& root) { root.environment[name] = value; };
}

const std::vector<Variant> kEnvironment = {
    {"ConfWithBlanks",
     [](FakeRoot& root) { root.write("/etc/nccl.conf", "# ours\nNCCL_DEBUG = INFO\n"); },
     "env.conf-files", kWarning, "/etc/nccl.conf:2"},
    {"ConfWithExport",
     [](FakeRoot& root) { root.write("/root/.nccl.conf", "export NCCL_DEBUG=INFO\n"); },
     "env.conf-files", kWarning, "/root/.nccl.conf:1"},
    {"QuotedNet", setting("NCCL_NET", "'AWS Libfabric'"), "env.quotes", kBroken, "'AWS Libfabric'"},
    {"QuotedPlugin", setting("NCCL_NET_PLUGIN", "\"fabrail\""), "env.quotes", kBroken,
     "NCCL_NET_PLUGIN"},
    {"NetOfOtherPlugin", setting("NCCL_NET", "gIB"), "env.nccl-net", kBroken, "gIB"},
    {"NetOfNewPluginWithOld",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.11.0");
       use_nccl(root, "2.22.3");
       root.write("/opt/amazon/efa_installed_packages", "# EFA installer version: 1.34.0\n");
       root.environment["NCCL_NET"] = "OFI";
     },
     "env.nccl-net", kBroken, "AWS Libfabric"},
    {"NetIsSocket", setting("NCCL_NET", "Socket"), "env.nccl-net", kBroken, "Socket"},
    {"NetIsSocketInConf",
     [](FakeRoot& root) {
       root.environment.erase("NCCL_NET");
       root.write("/etc/nccl.conf", "NCCL_NET=Socket\n");
     },
     "env.nccl-net", kBroken, "from /etc/nccl.conf"},
    {"DeadLibraryPath",
     [](FakeRoot& root) { root.environment["LD_LIBRARY_PATH"] += ":/opt/amazon/ofi-nccl/lib"; },
     "env.dead-paths", kWarning, "/opt/amazon/ofi-nccl/lib"},
    {"TopologyOfOtherMachine",
     [](FakeRoot& root) {
       root.write("/topo.xml",
                  "<system version=\"1\"><cpu numaid=\"0\">"
                  "<pci busid=\"0000:10:1c.0\" class=\"0x030200\"/></cpu></system>");
       root.environment["NCCL_TOPO_FILE"] = "/topo.xml";
     },
     "env.topology-file", kBroken, "0000:10:1c.0"},
    {"TopologyFileMissing", setting("NCCL_TOPO_FILE", "/nowhere.xml"), "env.topology-file",
     kWarning, "does not exist"},
    {"TopologyFileTooLarge",
     [](FakeRoot& root) {
       std::string text;
       for (int i = 0; i < 300; ++i) text += "<nic/>";
       root.write("/topo.xml", text);
       root.environment["NCCL_TOPO_FILE"] = "/topo.xml";
     },
     "env.topology-file", kWarning, "300 elements"},
    {"GraphFile", setting("NCCL_GRAPH_FILE", "/graph.xml"), "env.graph-file", kWarning,
     "/graph.xml"},
    {"NoSocketInterfaceLeft", setting("NCCL_SOCKET_IFNAME", "^lo,eth"), "env.socket-interface",
     kBroken, "^lo,eth"},
    {"EfaInterfaceUnknown", setting("FI_EFA_IFACE", "rdmap1s0"), "env.efa-interface", kBroken,
     "rdmap1s0"},
    {"OwnSettingOutOfRange", setting("FABRAIL_RAILS", "many"), "env.fabrail", kWarning,
     "FABRAIL_RAILS"},
    {"ProviderIsTcp", setting("FI_PROVIDER", "tcp"), "env.provider", kBroken, "FI_PROVIDER=tcp"},
    {"ProviderExcludesEfa", setting("FI_PROVIDER", "^efa"), "env.provider", kBroken, "^efa"},
    {"ProtocolForced", setting("NCCL_PROTO", "simple"), "env.protocol", kWarning, "simple"},
    {"LowLatencyForcedWithoutGpudirect",
     [](FakeRoot& root) {
       root.remove("/sys");
       root.remove("/dev/infiniband");
       make_hardware(root, {"g6e.48xlarge", 4, 8, "0xefa1"});
       root.environment["NCCL_PROTO"] = "LL128";
     },
     "env.protocol", kBroken, "LL128"},
    {"AlgorithmForced", setting("NCCL_ALGO", "Ring"), "env.algorithm", kWarning, "Ring"},
    {"BufferSizeForced", setting("NCCL_BUFFSIZE", "4194304"), "env.buffer-size", kWarning,
     "4194304"},
    {"ChannelsForced", setting("NCCL_MIN_NCHANNELS", "8"), "env.channels", kWarning, "8"},
    {"DeviceRdmaOff", setting("FI_EFA_USE_DEVICE_RDMA", "0"), "env.device-rdma", kWarning, "=0"},
    {"DeviceRdmaOnWithoutIt",
     [](FakeRoot& root) {
       root.remove("/sys");
       root.remove("/dev/infiniband");
       make_hardware(root, {"g5.48xlarge", 1, 8, "0xefa0"});
       root.environment["FI_EFA_USE_DEVICE_RDMA"] = "1";
     },
     "env.device-rdma", kBroken, "=1"},
    {"RdmavForkSafe", setting("RDMAV_FORK_SAFE", "1"), "env.rdmav-fork", kWarning,
     "RDMAV_FORK_SAFE"},
    {"RdmavHugePages", setting("RDMAV_HUGEPAGES_SAFE", "1"), "env.rdmav-huge-pages", kWarning,
     "RDMAV_HUGEPAGES_SAFE"},
    {"GdrLevelLoc", setting("NCCL_NET_GDR_LEVEL", "LOC"), "env.gdr-level", kBroken, "LOC"},
    {"GdrLevelSys", setting("NCCL_NET_GDR_LEVEL", "SYS"), "env.gdr-level", kWarning, "SYS"},
    {"P2pDisabled", setting("NCCL_P2P_DISABLE", "1"), "env.p2p-disable", kWarning, "NCCL_P2P"},
    {"ShmDisabled", setting("NCCL_SHM_DISABLE", "1"), "env.shm-disable", kWarning, "NCCL_SHM"},
    {"GdrCheckDisabled", setting("OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK", "1"), "env.gdr-check",
     kWarning, "GDR_REQUIRED"},
    {"RdmaCheckDisabled", setting("OFI_NCCL_DISABLE_NATIVE_RDMA_CHECK", "1"), "env.rdma-check",
     kWarning, "NATIVE_RDMA"},
    {"PluginProtocolSendrecv", setting("OFI_NCCL_PROTOCOL", "SENDRECV"), "env.plugin-protocol",
     kWarning, "SENDRECV"},
    {"DuplicateConnections", setting("OFI_NCCL_NIC_DUP_CONNS", "4"), "env.duplicate-connections",
     kBroken, "DUP_CONNS"},
    {"HmemP2pDisabled", setting("FI_HMEM_DISABLE_P2P", "1"), "env.disable-p2p", kBroken, "P2P=1"},
    {"HmemWithoutCuda", setting("FI_HMEM", "system"), "env.hmem", kBroken, "FI_HMEM=system"},
    {"RemovedMtuSetting", setting("FI_EFA_MTU_SIZE", "4096"), "env.fatal", kBroken, "MTU"},
    {"RemovedTxSetting", setting("FI_EFA_TX_IOV_LIMIT", "4"), "env.fatal", kBroken, "TX_IOV"},
    {"RemovedRxSetting", setting("FI_EFA_RX_IOV_LIMIT", "4"), "env.fatal", kBroken, "RX_IOV"},
    {"CreditsBelowOne", setting("FI_EFA_TX_MIN_CREDITS", "0"), "env.fatal", kBroken,
     "TX_MIN_CREDITS=0"},
    {"EfaInterfaceEmpty", setting("FI_EFA_IFACE", ""), "env.fatal", kBroken, "FI_EFA_IFACE="},
    {"DeviceRdmaNeitherOnNorOff", setting("FI_EFA_USE_DEVICE_RDMA", "2"), "env.fatal", kBroken,
     "=2"},
    {"MonitorMemhooks", setting("FI_MR_CACHE_MONITOR", "memhooks"), "env.mr-cache-monitor",
     kWarning, "memhooks"},
    {"SlingshotWithoutSettings", [](FakeRoot& root) { root.write("/sys/class/cxi/cxi0/x", ""); },
     "env.slingshot", kWarning, "FI_CXI_DISABLE_HOST_REGISTER=1"},
};

}  // namespace

const std::vector<Variant>& environment_variants() { return kEnvironment; }

}  // namespace fabrail::doctor
