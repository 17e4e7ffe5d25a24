// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Ways to break plugins, NCCL and the libraries below them.
#include <fmt/format.h>

#include "tests/doctor/variants.h"

namespace fabrail::doctor {

namespace {

using enum Verdict;

constexpr const char* kLib = "/usr/lib/x86_64-linux-gnu";

LibrarySpec aws_like(const char* needed, const char* version) {
  LibrarySpec spec;
  spec.soname = "libnccl-net.so";
  spec.needed = {"libfabric.so.1", needed};
  spec.version_needs = {{needed, version}};
  spec.defined = {"ncclNetPlugin_v10"};
  spec.texts = {"NET/OFI Initializing aws-ofi-nccl 1.19.2"};
  return spec;
}

constexpr const char* kAwsFile = "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so";

const std::vector<Variant> kPlugins = {
    {"NoPluginAtAll",
     [](FakeRoot& root) {
       root.remove("/opt/fabrail/lib/libnccl-net-fabrail.so");
       root.write("/opt/fabrail/lib/README", "");
     },
     "plugin.found", kBroken, "no net plugin"},
    {"PluginNotOnPath",
     [](FakeRoot& root) { root.environment["LD_LIBRARY_PATH"] = "/opt/amazon/efa/lib64"; },
     "plugin.found", kBroken, "there is /opt/fabrail/lib/libnccl-net-fabrail.so"},
    {"PluginNotInCache",
     [](FakeRoot& root) {
       root.environment["LD_LIBRARY_PATH"] = "/opt/amazon/efa/lib64";
       root.write("/etc/ld.so.conf.d/fabrail.conf", "/opt/fabrail/lib # ours\n");
     },
     "plugin.found", kBroken, "ld.so.cache"},
    {"PluginForOtherProcessor",
     [](FakeRoot& root) {
       LibrarySpec spec;
       spec.soname = "libnccl-net-fabrail.so";
       spec.machine = EM_AARCH64;
       root.library("/opt/fabrail/lib/libnccl-net-fabrail.so", spec);
     },
     "plugin.found", kBroken, "not a library that this machine can load"},
    {"PluginPathWithOldNccl",
     [](FakeRoot& root) {
       use_nccl(root, "2.20.5");
       root.environment["NCCL_NET_PLUGIN"] = "/opt/fabrail/lib/libnccl-net-fabrail.so";
     },
     "plugin.found", kBroken, "NCCL 2.20.5"},
    {"PluginsTurnedOff", [](FakeRoot& root) { root.environment["NCCL_NET_PLUGIN"] = "none"; },
     "plugin.found", kBroken, "turns all net plugins off"},
    {"HpcxWins",
     [](FakeRoot& root) {
       LibrarySpec spec;
       spec.soname = "libnccl-net.so.0";
       spec.defined = {"ncclNetPlugin_v8"};
       root.library("/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so", spec);
       root.environment.erase("NCCL_NET_PLUGIN");
       root.environment.erase("NCCL_NET");
       root.environment["LD_LIBRARY_PATH"] =
           "/opt/hpcx/nccl_rdma_sharp_plugin/lib:/opt/amazon/efa/lib64";
     },
     "plugin.kind", kBroken, "HPC-X"},
    {"TwoVersionsOfPlugin",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.19.2");
       LibrarySpec spec;
       spec.soname = "libnccl-net.so";
       spec.defined = {"ncclNetPlugin_v8"};
       spec.texts = {"NET/OFI Initializing aws-ofi-nccl 1.9.1"};
       root.library("/opt/aws-ofi-nccl/lib/libnccl-net.so", spec);
     },
     "plugin.copies", kWarning, "1.9.1"},
    {"PluginOfOtherAge",
     [](FakeRoot& root) {
       LibrarySpec spec;
       spec.soname = "libnccl-net-fabrail.so";
       spec.defined = {"ncclNetPlugin_v3"};
       spec.texts = {"FABRAIL_PROVIDER"};
       root.library("/opt/fabrail/lib/libnccl-net-fabrail.so", spec);
     },
     "plugin.abi", kBroken, "v3"},
    {"PluginWithoutInterface",
     [](FakeRoot& root) {
       LibrarySpec spec;
       spec.soname = "libnccl-net-fabrail.so";
       spec.texts = {"FABRAIL_PROVIDER"};
       root.library("/opt/fabrail/lib/libnccl-net-fabrail.so", spec);
     },
     "plugin.abi", kBroken, "no ncclNetPlugin"},
    {"TunerMoved",
     [](FakeRoot& root) {
       root.environment["NCCL_TUNER_PLUGIN"] = "/opt/amazon/ofi-nccl/lib/libnccl-ofi-tuner.so";
     },
     "plugin.tuner", kWarning, "leads to no file"},
    {"TwoNccls",
     [](FakeRoot& root) {
       LibrarySpec spec;
       spec.soname = "libnccl.so.2";
       spec.texts = {"NCCL version 2.21.5+cuda12.4"};
       root.library("/usr/local/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2", spec);
     },
     "nccl.version", kWarning, "2.21.5"},
    {"OldNccl", [](FakeRoot& root) { use_nccl(root, "2.17.0"); }, "nccl.version", kWarning,
     "2.17.0"},
    {"OldInstallerWithCumem",
     [](FakeRoot& root) {
       root.write("/opt/amazon/efa_installed_packages", "# EFA installer version: 1.28.0\n");
     },
     "versions.cumem", kBroken, "1.28.0"},
    {"OldPluginWithNccl228", [](FakeRoot& root) { use_aws_plugin(root, "1.16.3"); },
     "versions.nccl-2.28", kWarning, "1.16.3"},
    {"VanillaLibfabricWithNccl228",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.17.2");
       use_libfabric(root, "1.22.0");
     },
     "versions.nccl-2.28", kWarning, "not Amazon's build"},
    {"NewInstallerWithOldPlugin",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.12.0");
       use_nccl(root, "2.27.7");
     },
     "versions.installer", kWarning, "1.12.0"},
    {"TunerRefusesOldNccl",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.16.2");
       use_nccl(root, "2.20.5");
     },
     "versions.tuner", kWarning, "2.20.5"},
    {"LibfabricTooOldForPlugin",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.21.1");
       use_libfabric(root, "1.21.0amzn2.0");
     },
     "versions.libfabric", kBroken, "1.21.0amzn2.0"},
    {"LibfabricThatCutsImmediates",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.17.2");
       use_libfabric(root, "2.3.1amzn2.0");
     },
     "versions.libfabric", kWarning, "2.3.1amzn2.0"},
    {"OldPluginWithSomeGpus",
     [](FakeRoot& root) {
       root.remove("/sys");
       root.remove("/dev/infiniband");
       make_hardware(root, {"p6-b200.48xlarge", 8, 2, "0xefa3"});
       use_aws_plugin(root, "1.9.1");
       use_nccl(root, "2.26.2");
       root.write("/opt/amazon/efa_installed_packages", "# EFA installer version: 1.34.0\n");
     },
     "versions.topology", kWarning, "2 of 8 GPUs"},
};

const std::vector<Variant> kLibraries = {
    {"HwlocLeftInBuilder",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.19.2");
       LibrarySpec spec = aws_like("libc.so.6", "GLIBC_2.34");
       spec.needed.push_back("libhwloc.so.15");
       root.library(kAwsFile, spec);
     },
     "lib.missing", kBroken,
     "libhwloc.so.15 (needed by /opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so)"},
    {"LibefaLeftInBuilder",
     [](FakeRoot& root) {
       root.remove(fmt::format("{}/libefa.so.1", kLib));
       root.remove(fmt::format("{}/libefa.so.1.4.59.0", kLib));
     },
     "lib.missing", kBroken, "libefa.so.1"},
    {"NoLibfabric", [](FakeRoot& root) { root.remove("/opt/amazon/efa/lib64/libfabric.so.1"); },
     "lib.libfabric", kBroken, "no libfabric.so.1"},
    {"HpcxRdmaCoreShadows",
     [](FakeRoot& root) {
       LibrarySpec verbs;
       verbs.soname = "libibverbs.so.1";
       verbs.version_defs = {"IBVERBS_1.0", "IBVERBS_1.14", "IBVERBS_PRIVATE_34"};
       verbs.texts = {"lib%s-rdmav34.so"};
       root.library("/opt/rdma-core/build/lib/libibverbs.so.1", verbs);
       root.environment["LD_LIBRARY_PATH"] += ":/opt/rdma-core/build/lib";
     },
     "lib.verbs-pair", kBroken, "needs IBVERBS_PRIVATE_59, but /opt/rdma-core/build/lib"},
    {"EfaProviderOfOtherBuild",
     [](FakeRoot& root) {
       root.remove(fmt::format("{}/libibverbs/libefa-rdmav59.so", kLib));
       root.link(fmt::format("{}/libibverbs/libefa-rdmav34.so", kLib), "../libefa.so.1");
     },
     "lib.verbs-pair", kBroken, "libefa-rdmav59.so"},
    {"LibfabricOlderThanPlugin",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.19.2");
       root.library(kAwsFile, aws_like("libfabric.so.1", "FABRIC_1.7"));
       use_libfabric(root, "1.22.0amzn4.0");
       use_nccl(root, "2.27.7");
     },
     "lib.fabric-version", kBroken, "needs FABRIC_1.7"},
    {"GlibcOlderThanPlugin",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.19.2");
       root.library(kAwsFile, aws_like("libc.so.6", "GLIBC_2.38"));
     },
     "lib.glibc", kBroken, "GLIBC_2.38"},
    {"LibefaOlderThanLibfabric",
     [](FakeRoot& root) {
       LibrarySpec spec = libfabric_spec("2.6.0amzn1.0", true);
       spec.version_needs.push_back({"libefa.so.1", "EFA_1.6"});
       root.library("/opt/amazon/efa/lib64/libfabric.so.1", spec);
     },
     "lib.symbol-versions", kBroken, "EFA_1.6"},
    {"UndefinedSymbol",
     [](FakeRoot& root) {
       use_aws_plugin(root, "1.19.2");
       LibrarySpec spec = aws_like("libc.so.6", "GLIBC_2.34");
       spec.undefined = {"fi_no_such_function"};
       root.library(kAwsFile, spec);
     },
     "lib.undefined", kBroken, "fi_no_such_function"},
    {"LibfabricWithoutEfa",
     [](FakeRoot& root) {
       root.library("/opt/amazon/efa/lib64/libfabric.so.1", libfabric_spec("2.4.0", true, false));
     },
     "lib.libfabric", kBroken, "without EFA"},
    {"DistributionLibfabricFirst",
     [](FakeRoot& root) {
       root.library(fmt::format("{}/libfabric.so.1", kLib), libfabric_spec("1.17.0", true));
       root.write("/etc/ld.so.cache",
                  make_ld_cache({{"libfabric.so.1", fmt::format("{}/libfabric.so.1", kLib)}}));
       root.environment["LD_LIBRARY_PATH"] = "/opt/fabrail/lib";
       root.write("/sys/module/efa_nv_peermem/refcnt", "0\n");
     },
     "lib.libfabric-copies", kWarning, "1.17.0"},
    {"LibfabricWithoutCuda",
     [](FakeRoot& root) {
       root.library("/opt/amazon/efa/lib64/libfabric.so.1", libfabric_spec("2.4.0", false));
     },
     "lib.libfabric-cuda", kBroken, "without CUDA"},
};

}  // namespace

const std::vector<Variant>& plugin_variants() { return kPlugins; }

const std::vector<Variant>& library_variants() { return kLibraries; }

}  // namespace fabrail::doctor
