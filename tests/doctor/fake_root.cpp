// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/doctor/fake_root.h"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace fabrail::doctor {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLib = "/usr/lib/x86_64-linux-gnu";

/// The roots of a machine: devices are dealt out to them in turn.
constexpr std::array kRoots = {0x44, 0x5d, 0x76, 0x8f};

struct Place {
  std::string address;
  std::string folder;
};

/// Where the `index`-th device of a kind sits: buses of a root follow its number.
Place place_of(int index, int first_bus, int roots = 4) {
  const int root = kRoots[static_cast<std::size_t>(index % roots)];
  const int bus = root + first_bus + index / roots;
  const std::string address = fmt::format("0000:{:02x}:00.0", bus);
  return {address,
          fmt::format("/sys/devices/pci0000:{:02x}/0000:{:02x}:01.0/{}", root, root, address)};
}

void add_function(const FakeRoot& root, const Place& place, const char* vendor, std::string device,
                  const char* device_class) {
  root.write(place.folder + "/vendor", std::string(vendor) + "\n");
  root.write(place.folder + "/device", device + "\n");
  root.write(place.folder + "/class", std::string(device_class) + "\n");
  root.write(place.folder + "/numa_node", "0\n");
  root.link("/sys/bus/pci/devices/" + place.address, "../../../.." + place.folder);
}

void add_verbs_device(const FakeRoot& root, const Place& place, const std::string& name,
                      int number) {
  const std::string folder = place.folder + "/infiniband/" + name;
  root.write(folder + "/node_guid", "0000:0000:0000:0000\n");
  root.link(folder + "/device", "../../../" + place.address);
  root.link("/sys/class/infiniband/" + name, "../../.." + folder);
  root.write(fmt::format("/sys/class/infiniband_verbs/uverbs{}/ibdev", number), name + "\n");
  root.write(fmt::format("/dev/infiniband/uverbs{}", number), "");
}

void add_kernel(const FakeRoot& root) {
  root.write("/proc/sys/kernel/osrelease", "6.8.0-1027-aws\n");
  for (const char* module : {"efa", "ib_uverbs", "ib_core", "nvidia"}) {
    root.write(fmt::format("/sys/module/{}/refcnt", module), "1\n");
  }
  root.write("/sys/module/efa/version", "3.0.0g\n");
  root.write("/sys/module/nvidia/version", "580.95.05\n");
  root.write("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n");
  root.write("/proc/1/comm", "python\n");
}

void add_limits(const FakeRoot& root) {
  root.write("/proc/self/limits",
             "Limit                     Soft Limit           Hard Limit           Units     \n"
             "Max open files            1024                 1048576              files     \n"
             "Max locked memory         unlimited            unlimited            bytes     \n");
  root.write("/proc/self/status", "Name:\tfabrail\nCapEff:\t0000000000000000\n");
  root.write("/proc/self/mounts",
             "sysfs /sys sysfs rw 0 0\nshm /dev/shm tmpfs rw,nosuid,size=8388608k 0 0\n");
  root.write("/sys/class/net/eth0/flags", "0x1003\n");
  root.write("/sys/class/net/lo/flags", "0x9\n");
  root.write("/sys/fs/cgroup/memory.max", "max\n");
}

LibrarySpec nccl_spec(const std::string& version) {
  LibrarySpec spec;
  spec.soname = "libnccl.so.2";
  spec.needed = {"libc.so.6"};
  spec.defined = {"ncclCommInitRank"};
  spec.texts = {"NCCL version mismatch with remote peer", "NCCL version " + version + "+cuda12.9"};
  return spec;
}

LibrarySpec fabrail_spec() {
  LibrarySpec spec;
  spec.soname = "libnccl-net-fabrail.so";
  spec.needed = {"libc.so.6"};
  spec.version_needs = {{"libc.so.6", "GLIBC_2.34"}};
  spec.defined = {"ncclNetPlugin_v6", "ncclNetPlugin_v8", "ncclNetPlugin_v11"};
  spec.undefined = {"malloc"};
  spec.texts = {"FABRAIL_PROVIDER"};
  return spec;
}

void add_rdma_core(const FakeRoot& root) {
  LibrarySpec verbs;
  verbs.soname = "libibverbs.so.1";
  verbs.needed = {"libc.so.6"};
  verbs.version_defs = {"IBVERBS_1.0", "IBVERBS_1.14", "IBVERBS_PRIVATE_59"};
  verbs.texts = {"lib%s-rdmav59.so"};
  root.library(fmt::format("{}/libibverbs.so.1.15.59.0", kLib), verbs);
  root.link(fmt::format("{}/libibverbs.so.1", kLib), "libibverbs.so.1.15.59.0");
  LibrarySpec efa;
  efa.soname = "libefa.so.1";
  efa.needed = {"libibverbs.so.1", "libc.so.6"};
  efa.version_needs = {{"libibverbs.so.1", "IBVERBS_PRIVATE_59"}};
  efa.version_defs = {"EFA_1.0", "EFA_1.4"};
  root.library(fmt::format("{}/libefa.so.1.4.59.0", kLib), efa);
  root.link(fmt::format("{}/libefa.so.1", kLib), "libefa.so.1.4.59.0");
  root.link(fmt::format("{}/libibverbs/libefa-rdmav59.so", kLib), "../libefa.so.1.4.59.0");
}

void add_system_libraries(const FakeRoot& root) {
  LibrarySpec libc;
  libc.soname = "libc.so.6";
  libc.version_defs = {"GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.35"};
  libc.defined = {"malloc", "free"};
  root.library(fmt::format("{}/libc.so.6", kLib), libc);
  LibrarySpec cuda;
  cuda.soname = "libcuda.so.1";
  root.library(fmt::format("{}/libcuda.so.580.95.05", kLib), cuda);
  root.link(fmt::format("{}/libcuda.so.1", kLib), "libcuda.so.580.95.05");
  root.link("/lib", "usr/lib");
  root.write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
  root.write("/etc/ld.so.conf.d/efa.conf", "/opt/amazon/efa/lib64\n");
  root.write("/etc/ld.so.cache",
             make_ld_cache({{"libfabric.so.1", "/opt/amazon/efa/lib64/libfabric.so.1"}}));
}

LibrarySpec aws_spec(const std::string& version) {
  LibrarySpec spec;
  spec.soname = "libnccl-net.so";
  spec.needed = {"libfabric.so.1", "libc.so.6"};
  spec.version_needs = {{"libfabric.so.1", "FABRIC_1.6"}};
  spec.defined = {"ncclNetPlugin_v8", "ncclNetPlugin_v9", "ncclNetPlugin_v10", "ncclNetPlugin_v11"};
  spec.texts = {"NET/OFI Initializing aws-ofi-nccl " + version};
  return spec;
}

void make_parent(const fs::path& file) {
  std::error_code error;
  const fs::path parent = file.parent_path();
  if (!fs::exists(parent, error)) fs::create_directories(parent);
}

}  // namespace

FakeRoot::FakeRoot() {
  // Hundreds of small files for each test: in memory where the system offers that.
  const bool shm = ::access("/dev/shm", W_OK) == 0;
  const fs::path folder = shm ? fs::path("/dev/shm") : fs::temp_directory_path();
  std::string pattern = (folder / "fabrail-root-XXXXXX").string();
  const char* made = ::mkdtemp(pattern.data());
  EXPECT_NE(made, nullptr);
  path_ = made == nullptr ? "/nonexistent" : made;
}

FakeRoot::~FakeRoot() {
  std::error_code error;
  fs::remove_all(path_, error);
}

void FakeRoot::write(const std::string& path, std::string_view text) const {
  const fs::path file = path_.string() + path;
  make_parent(file);
  std::ofstream(file, std::ios::binary) << text;
}

void FakeRoot::link(const std::string& path, const std::string& target) const {
  const fs::path file = path_.string() + path;
  make_parent(file);
  std::error_code error;
  fs::remove(file, error);
  fs::create_symlink(target, file);
}

void FakeRoot::remove(const std::string& path) const {
  EXPECT_GT(fs::remove_all(path_.string() + path), 0u) << path;
}

void FakeRoot::library(const std::string& path, const LibrarySpec& spec) const {
  write(path, make_library(spec));
}

System FakeRoot::system() const {
  System system = System::below(path_.string(), environment);
  const auto refused = unopenable;
  system.open_device = [refused](const std::string& path) {
    const auto found = refused.find(fs::path(path).filename().string());
    return found == refused.end() ? 0 : found->second;
  };
  system.wait = [](double) {};
  system.rdma_resources = [answer = rdma_resources] { return answer; };
  system.libfabric = [answer = libfabric] { return answer; };
  system.nvml = [answer = nvml] { return answer; };
  return system;
}

namespace {

/// A netlink attribute: header, payload, padding.
std::string attribute(std::uint16_t type, const std::string& payload) {
  const nlattr header{static_cast<std::uint16_t>(sizeof header + payload.size()), type};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += payload;
  bytes.resize((bytes.size() + 3) & ~std::size_t{3});
  return bytes;
}

std::string summary_entry(const std::string& name, std::uint64_t count) {
  const std::string value(reinterpret_cast<const char*>(&count), sizeof count);
  return attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY,
                   attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name + '\0') +
                       attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, value));
}

}  // namespace

std::string rdma_answer(const std::string& device, std::uint64_t queue_pairs) {
  const std::string body = attribute(RDMA_NLDEV_ATTR_DEV_NAME, device + '\0') +
                           attribute(RDMA_NLDEV_ATTR_RES_SUMMARY,
                                     summary_entry("pd", 3) + summary_entry("qp", queue_pairs) +
                                         summary_entry("mr", 1000));
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + body.size());
  header.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

void make_hardware(const FakeRoot& root, const FakeMachine& machine) {
  root.write("/sys/devices/virtual/dmi/id/product_name", machine.type + "\n");
  root.write("/sys/devices/virtual/dmi/id/sys_vendor", "Amazon EC2\n");
  const int roots = std::clamp(machine.nics, 1, 4);
  for (int i = 0; i < machine.nics; ++i) {
    const Place place = place_of(i, 12, roots);
    add_function(root, place, "0x1d0f", machine.efa_device, "0x020000");
    add_verbs_device(root, place, fmt::format("rdmap{}s0", i + 80), i);
  }
  for (int i = 0; i < machine.gpus; ++i) {
    add_function(root, place_of(i, 3, roots), "0x10de", "0x2335", "0x030200");
  }
  add_kernel(root);
  add_limits(root);
}

LibrarySpec libfabric_spec(const std::string& version, bool cuda, bool efa) {
  LibrarySpec spec;
  spec.soname = "libfabric.so.1";
  spec.needed = {"libefa.so.1", "libibverbs.so.1", "libc.so.6"};
  if (!efa) spec.needed = {"libc.so.6"};
  spec.version_needs = {{"libc.so.6", "GLIBC_2.34"}};
  spec.version_defs = {"FABRIC_1.0", "FABRIC_1.5", "FABRIC_1.6"};
  if (version.starts_with("2.")) spec.version_defs.push_back("FABRIC_1.7");
  spec.texts = {version, "127.0.0.1"};
  if (efa) spec.texts.push_back("efadv_query_device");
  if (cuda) spec.texts.push_back("cuPointerGetAttribute");
  return spec;
}

void use_libfabric(const FakeRoot& root, const std::string& version) {
  root.library("/opt/amazon/efa/lib64/libfabric.so.1", libfabric_spec(version, true));
}

void use_nccl(const FakeRoot& root, const std::string& version) {
  root.library(fmt::format("{}/libnccl.so.2", kLib), nccl_spec(version));
}

void make_software(FakeRoot& root) {
  add_system_libraries(root);
  add_rdma_core(root);
  use_libfabric(root, "2.4.0amzn3.0");
  root.write("/opt/amazon/efa_installed_packages", "# EFA installer version: 1.48.0\n# Date: x\n");
  use_nccl(root, "2.28.9");
  root.library("/opt/fabrail/lib/libnccl-net-fabrail.so", fabrail_spec());
  root.environment = {{"HOME", "/root"},
                      {"LD_LIBRARY_PATH", "/opt/fabrail/lib:/opt/amazon/efa/lib64"},
                      {"NCCL_NET", "fabrail"},
                      {"NCCL_NET_PLUGIN", "fabrail"}};
}

void make_healthy(FakeRoot& root) {
  make_hardware(root, {"p6-b200.48xlarge", 8, 8, "0xefa3"});
  make_software(root);
}

void use_aws_plugin(FakeRoot& root, const std::string& version) {
  root.remove("/opt/fabrail");
  root.library("/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", aws_spec(version));
  root.link("/opt/amazon/ofi-nccl/lib/libnccl-net.so", "libnccl-net-ofi.so");
  root.environment["LD_LIBRARY_PATH"] = "/opt/amazon/ofi-nccl/lib:/opt/amazon/efa/lib64";
  root.environment["NCCL_NET_PLUGIN"] = "ofi";
  root.environment["NCCL_NET"] = "AWS Libfabric";
}

void add_foreign_device(const FakeRoot& root) {
  const Place place = place_of(0, 22);
  add_function(root, place, "0x15b3", "0x1021", "0x020700");
  add_verbs_device(root, place, "ibp115s0", 99);
}

}  // namespace fabrail::doctor
