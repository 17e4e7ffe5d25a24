// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Logs of NCCL and plugins of many releases: what is read, and the one finding that is the cause.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {
namespace {

NcclLog read(const std::string& text) {
  std::istringstream input(text);
  return read_nccl_log(input, "job.log");
}

Findings findings_of(const std::string& text) {
  Survey survey;
  survey.log = read(text);
  return run_checks(survey);
}

Findings problems_of(const std::string& text) {
  Findings problems;
  for (const Finding& finding : findings_of(text)) {
    if (finding.verdict >= Verdict::kWarning) problems.push_back(finding);
  }
  return problems;
}

std::string line(const std::string& host, int rank, const std::string& text) {
  return fmt::format("{}:{}:{} [{}] NCCL INFO {}\n", host, 1000 + rank, 2000 + rank, rank, text);
}

/// Two hosts of eight ranks, everything as it should be.
std::string healthy_log(const std::string& network = "AWS Libfabric",
                        const std::string& flags = "/GDRDMA") {
  std::string text =
      "h0:1000:1000 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
      "NCCL version 2.27.7+cuda12.9\n";
  for (const char* host : {"h0", "h1"}) {
    for (int rank = 0; rank < 8; ++rank) {
      text += line(host, rank, "NET/Plugin: Failed to find ncclCollNetPlugin_v8 symbol.");
      text += line(host, rank, "TUNER/Plugin: Could not find: libnccl-tuner.so");
      text += line(host, rank, "NET/OFI Initializing aws-ofi-nccl 1.19.2");
      text += line(host, rank, "NET/OFI Selected provider is efa, fabric is efa (found 32 nics)");
      text += line(host, rank, "NET/OFI Using transport protocol RDMA (platform set)");
      text += line(host, rank, "Using network " + network);
      text += line(host, rank,
                   fmt::format("Channel 00/0 : {}[{}] -> 0[0] [send] via NET/{}/{}{}", rank, rank,
                               network, rank, flags));
      text += line(host, rank, "Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM");
    }
  }
  return text;
}

TEST(NcclLog, HealthyOneHasNoProblems) {
  EXPECT_TRUE(problems_of(healthy_log()).empty());
  EXPECT_TRUE(problems_of(healthy_log("fabrail", "(8)/GDRDMA(PCI)/Shared")).empty());
}

TEST(NcclLog, CountsWhatWasUsed) {
  const NcclLog log = read(healthy_log());
  EXPECT_EQ(log.networks.at("AWS Libfabric").size(), 16u);
  EXPECT_EQ(log.nccl_versions.count("2.27.7"), 1u);
  EXPECT_EQ(log.plugins.at("aws-ofi-nccl 1.19.2").size(), 16u);
  EXPECT_EQ(log.nics.at("h1"), (std::set<int>{32}));
  const HostTraffic& traffic = log.traffic.at("AWS Libfabric").at("h0");
  EXPECT_EQ(traffic.connections, 8u);
  EXPECT_EQ(traffic.with_gdr, 8u);
  EXPECT_EQ(traffic.devices.size(), 8u);
}

TEST(NcclLog, FindsTheWriterBehindWhatLaunchersAdd) {
  EXPECT_EQ(writer_of("node-7:12:34 [0] NCCL INFO x")->process, "node-7:12");
  EXPECT_EQ(writer_of("[1,0]<stdout>:node-7:12:34 [0] NCCL INFO x")->process, "node-7:12");
  EXPECT_EQ(writer_of("12: node-7:12:34 [0] NCCL INFO x")->host, "node-7");
  EXPECT_EQ(writer_of("[2026-01-02 10:11:12] node-7:12:34 [0] net.cc:3 NCCL WARN x")->host,
            "node-7");
  EXPECT_FALSE(writer_of("10:11:12 something else").has_value());
}

TEST(NcclLog, ReadsConnectionsOfEveryForm) {
  struct Row {
    const char* text;
    const char* network;
    int device;
    bool gdr;
  };
  for (const Row& row :
       {Row{"Channel 00 : 0[53000] -> 8[53000] [receive] via NET/Socket/0", "Socket", 0, false},
        Row{"Channel 01/0 : 1[1] -> 9[1] [send] via NET/AWS Libfabric/3/GDRDMA", "AWS Libfabric", 3,
            true},
        Row{"[send] via NET/Libfabric/12(4)/GDRDMA/Shared", "Libfabric", 12, true},
        Row{"[send] via NET/fabrail/1(8)", "fabrail", 1, false},
        Row{"[send] via NET/IB/2/GDRDMA(PCI)", "IB", 2, true}}) {
    const auto connection = connection_of(row.text);
    ASSERT_TRUE(connection.has_value()) << row.text;
    EXPECT_EQ(connection->network, row.network);
    EXPECT_EQ(connection->device, row.device);
    EXPECT_EQ(connection->gdr, row.gdr);
  }
  EXPECT_FALSE(connection_of("Channel 00 : 0[0] -> 1[1] via P2P/IPC").has_value());
  EXPECT_FALSE(connection_of("[send] via NET/Socket").has_value());
}

TEST(NcclLog, ReadsProvidersOfEveryRelease) {
  EXPECT_EQ(provider_of("NET/OFI Selected Provider is efa")->name, "efa");
  EXPECT_EQ(provider_of("NET/OFI Selected Provider is tcp (found 1 nics)")->name, "tcp");
  const auto now =
      provider_of("NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)");
  EXPECT_EQ(now->name, "efa");
  EXPECT_EQ(now->nics, 16);
}

struct LogVariant {
  const char* name;
  std::string text;
  const char* check;
  Verdict verdict;
  const char* phrase;  ///< stands in fact, reason or remedy
};

void PrintTo(const LogVariant& variant, std::ostream* out) { *out << variant.name; }

/// A plugin that failed with `reason`; the job went on with sockets.
std::string fallback(const std::string& reason) {
  return line("h0", 0, reason) +
         line("h0", 0, "NET/Plugin: Could not find: ofi libnccl-net-ofi.so") +
         line("h0", 0, "NET/IB : No device found.") + line("h0", 0, "Using network Socket") +
         line("h0", 0, "Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0");
}

std::string error(const std::string& text) {
  return healthy_log() + "h0:1000:2000 [0] net.cc:77 NCCL WARN " + text + "\n";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

using enum Verdict;

const std::vector<LogVariant> kLoadVariants = {
    {"PrivateAbi",
     fallback("NET/Plugin: /usr/lib/libibverbs.so.1: version `IBVERBS_PRIVATE_34' not found "
              "(required by /opt/amazon/efa/lib/libefa.so.1)"),
     "log.plugin", kBroken, "different builds of rdma-core"},
    {"FabricVersion",
     fallback("NET/Plugin : dlerror=libfabric.so.1: version `FABRIC_1.7' not found"), "log.plugin",
     kBroken, "newer libfabric"},
    {"GlibcVersion", fallback("NET/Plugin: /lib/libc.so.6: version `GLIBC_2.38' not found"),
     "log.plugin", kBroken, "newer system"},
    {"MissingHwloc",
     fallback("NET/Plugin: libhwloc.so.15: cannot open shared object file: No such file"),
     "log.plugin", kBroken, "not in the image"},
    {"MissingPlugin",
     fallback("NET/Plugin: libnccl-net-ofi.so: cannot open shared object file: No such file"),
     "log.plugin", kBroken, "finds no plugin of that name"},
    {"UndefinedSymbol", fallback("NET/Plugin: libnccl-net.so: undefined symbol: fi_tostr_r"),
     "log.plugin", kBroken, "different builds"},
    {"NoDevicesInContainer", fallback("NET/OFI OFI fi_getinfo() call failed: No data available"),
     "log.plugin", kBroken, "/dev/infiniband"},
    {"ForeignDevice",
     fallback("libfabric:1:efa:core:efa_device_list(): provider efa output empty list"),
     "log.plugin", kBroken, "one verbs device"},
    {"NoEfaOnType", fallback("NET/OFI Only EFA provider is supported"), "log.plugin", kBroken,
     "no EFA"},
    {"NoOptimalProvider", fallback("NET/OFI Couldn't find any optimal provider"), "log.plugin",
     kBroken, "no EFA device is visible"},
    {"GdrDisabled", fallback("NET/OFI GDR disabled on GDR-supported instance type p4d.24xlarge"),
     "log.plugin", kBroken, "cannot reach GPU memory"},
    {"OldLibfabric", fallback("NET/OFI Couldn't set FI_OPT_EFA_EMULATED_WRITE"), "log.plugin",
     kBroken, "older than the plugin expects"},
    {"GroupSize", fallback("NET/OFI Unexpected group size 0"), "log.plugin", kBroken, "PCI level"},
    {"OtherCloud", fallback("NET/gIB : No device found."), "log.plugin", kBroken, "another cloud"},
    {"OnlyThatItFailed",
     line("h0", 0, "Failed to initialize NET plugin AWS Libfabric") +
         line("h0", 0, "Using network Socket"),
     "log.plugin", kBroken, "its start failed"},
    {"OldInterface",
     line("h0", 0,
          "NET/Plugin: Failed to find ncclNetPlugin symbol (>= v5). ncclNetPlugin symbols "
          "v4 and lower are not supported.") +
         line("h0", 0, "Using network Socket"),
     "log.plugin", kBroken, "no interface"},
    {"SocketWithoutReason", line("h0", 0, "Using network Socket"), "log.network", kBroken,
     "does not say why"},
    {"MixedNetworks", healthy_log() + line("h2", 0, "Using network IB"), "log.network", kBroken,
     "cannot talk to each other"},
    {"ProviderTcp",
     replaced(healthy_log(), "Selected provider is efa, fabric is efa (found 32 nics)",
              "Selected Provider is tcp (found 1 nics)"),
     "log.provider", kBroken, "over TCP"},
    {"DifferentNicCounts",
     healthy_log() +
         line("h1", 3, "NET/OFI Selected provider is efa, fabric is efa (found 8 nics)"),
     "log.provider", kWarning, "8 to 32"},
    {"DifferentNcclVersions", healthy_log() + "h3:5:6 [0] NCCL INFO NCCL version 2.26.2+cuda12.8\n",
     "log.versions", kBroken, "2.26.2"},
    {"DifferentPlugins", healthy_log() + line("h3", 0, "NET/OFI Initializing aws-ofi-nccl 1.17.0"),
     "log.versions", kBroken, "1.17.0"},
    {"NoGpudirect", healthy_log("AWS Libfabric", ""), "log.gpudirect", kWarning, "0 of 16"},
    {"OneDeviceOnly",
     replaced(healthy_log(), "via NET/AWS Libfabric/", "via NET/AWS Libfabric/0/x"), "log.devices",
     kWarning, "use device 0"},
    {"NotAnNcclLog", "hello\nworld\n", "log.readable", kWarning, "NCCL_DEBUG=INFO"},
    {"EmptyLog", "", "log.readable", kWarning, "NCCL_DEBUG=INFO"},
};

LogVariant row(const char* name, const char* text, const char* phrase) {
  return {name, error(text), "log.errors", Verdict::kBroken, phrase};
}

const std::vector<LogVariant> kErrorVariants = {
    row("NetworkNotFound", "Error: network 'AWS Libfabric' not found.", "without quotes"),
    row("AnyPlugin", "Failed to initialize any NET plugin", "no loaded plugin provides"),
    row("ReceiveBuffers", "EFA internal error: (4112) Failure to post internal receive buffers",
        "RLIMIT_MEMLOCK"),
    row("CumemRegistration", "Unable to register memory (type = 2) for device 0. RC: -22",
        "1.29.1"),
    row("CumemAttribute", "Failed to perform cuPointerSetAttribute: CUDA_ERROR_NOT_SUPPORTED:x",
        "1.29.1"),
    row("LargePages", "Unable to register MR of 65536 bytes: Bad address", "64 KiB"),
    row("NoContext", "fi_mr_regattr failed: Operation not supported", "CUDA context"),
    row("CudaBuffer", "Failed to register CUDA buffer with the EFA device", "gdr checks"),
    row("Peermem", "RDMA buffer MR registration failed: Invalid argument", "gdr checks"),
    row("Registration", "Unable to register memory (type = 1) for device 0. RC: 12",
        "limits.memlock"),
    row("Memory", "Couldn't enable endpoint. RC: -12, ERROR: Cannot allocate memory (-12)",
        "four limits"),
    row("Fork", "OSError: [Errno 12] Cannot allocate memory", "HUGE_PAGE=0"),
    row("Handshake", "EFA internal error: (4126) handshake failed", "security group"),
    row("OldHandshakeText", "RC: 20, prov_err Not a directory", "security group"),
    row("OldUnknownText", "RC: 21. Error: unknown error", "security group"),
    row("AddressVector", "Unable to insert remote address into address vector for device 0. RC: 0",
        "security group"),
    row("Unreachable", "Request completed with error: Unreachable remote", "security group"),
    row("Unresponsive", "Request completed with error: Unresponsive remote", "security group"),
    row("NullContext", "Operation with NULL context completed with error", "security group"),
    row("BadQpn", "Invalid receiver queue pair number (QPN)", "137"),
    row("Rails", "Unexpected number of remote rails for dev 0. Expected 3 but got 2",
        "fewer EFA devices"),
    row("InvalidAddress", "Request 0x1 completed with error: Invalid address",
        "no longer registered"),
    row("CpuArch", "Attribute arch of node cpu not found", "NCCL_TOPO_FILE"),
    row("XmlNodes", "Error : too many XML nodes (max 256)", "larger than"),
    row("DuplicateGpu", "Duplicate GPU detected : rank 9 and rank 1 both on CUDA device 5a000",
        "CUDA_VISIBLE_DEVICES"),
    row("Shm", "Error: failed to extend /dev/shm/nccl-abc to 9637892 bytes", "--shm-size"),
    row("NotInitialized", "Cuda failure 802 'system not yet initialized'", "gpu.libcuda"),
    row("Tuner", "NCCL Error 4: invalid argument", "NCCL_TUNER_PLUGIN=none"),
    row("Interfaces", "Bootstrap : no socket interface found", "NCCL_SOCKET_IFNAME"),
};

std::vector<LogVariant> all_log_variants() {
  std::vector<LogVariant> all = kLoadVariants;
  all.insert(all.end(), kErrorVariants.begin(), kErrorVariants.end());
  return all;
}

class BadLog : public testing::TestWithParam<LogVariant> {};

TEST_P(BadLog, GivesExactlyItsCause) {
  const LogVariant& variant = GetParam();
  const Findings problems = problems_of(variant.text);
  ASSERT_EQ(problems.size(), 1u) << (problems.size() > 1 ? problems[1].fact : "");
  EXPECT_EQ(problems[0].check, variant.check);
  EXPECT_EQ(problems[0].verdict, variant.verdict);
  const std::string all = problems[0].fact + problems[0].why + problems[0].action;
  EXPECT_TRUE(contains(all, variant.phrase)) << all;
}

INSTANTIATE_TEST_SUITE_P(All, BadLog, testing::ValuesIn(all_log_variants()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(NcclLog, EverySignIsSeenByItself) {
  for (std::size_t i = 0; i < log_signs().size(); ++i) {
    const SignText& sign = log_signs()[i];
    const NcclLog log = read(line("h0", 0, fmt::format("{} {}", sign.text, sign.also)));
    ASSERT_EQ(log.signs.size(), 1u) << sign.text;
    EXPECT_EQ(log.signs[0].sign, i) << sign.text << ": an earlier sign takes this line";
  }
}

TEST(NcclLog, SurvivesAnyBytes) {
  const std::string good = healthy_log();
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::string text = good;
    for (int i = 0; i < 50; ++i) text[random() % text.size()] = static_cast<char>(random());
    Survey survey;
    survey.log = read(text);
    EXPECT_FALSE(run_checks(survey).empty());
  }
  EXPECT_EQ(read(std::string(100000, 'x')).lines, 1u);
  EXPECT_EQ(read("[send] via NET/x/99999999999999999999").traffic.size(), 0u);
}

}  // namespace
}  // namespace fabrail::doctor
