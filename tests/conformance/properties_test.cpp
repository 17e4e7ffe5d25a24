// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group B: device properties as NCCL's topology code reads them.
#include <climits>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

constexpr size_t kTebibyte = size_t{1} << 40;

std::vector<Properties> all_properties(const Net& net, unsigned char fill = 0xEE) {
  int count = 0;
  EXPECT_EQ(net.devices(&count), NCCL_NET_SUCCESS);
  EXPECT_GT(count, 0) << "no device to test";
  std::vector<Properties> all(static_cast<size_t>(count));
  for (int dev = 0; dev < count; ++dev) {
    EXPECT_EQ(net.get_properties(dev, &all[static_cast<size_t>(dev)], fill), NCCL_NET_SUCCESS);
  }
  return all;
}

void expect_equal(const Properties& a, const Properties& b, const char* what) {
  SCOPED_TRACE(what);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.pci_path, b.pci_path);
  EXPECT_EQ(a.guid, b.guid);
  EXPECT_EQ(a.ptr_support, b.ptr_support);
  EXPECT_EQ(a.reg_is_global, b.reg_is_global);
  EXPECT_EQ(a.force_flush, b.force_flush);
  EXPECT_EQ(a.speed, b.speed);
  EXPECT_EQ(a.port, b.port);
  EXPECT_EQ(a.latency, b.latency);
  EXPECT_EQ(a.max_comms, b.max_comms);
  EXPECT_EQ(a.max_recvs, b.max_recvs);
  EXPECT_EQ(a.net_device_type, b.net_device_type);
  EXPECT_EQ(a.net_device_version, b.net_device_version);
  EXPECT_EQ(a.vdevice_count, b.vdevice_count);
  EXPECT_EQ(a.vdevices, b.vdevices);
  EXPECT_EQ(a.max_p2p_bytes, b.max_p2p_bytes);
  EXPECT_EQ(a.max_coll_bytes, b.max_coll_bytes);
  EXPECT_EQ(a.max_multi_request_size, b.max_multi_request_size);
  EXPECT_EQ(a.rail_id, b.rail_id);
  EXPECT_EQ(a.plane_id, b.plane_id);
}

class PropertiesEveryAbi : public EveryAbiTest {};

// Case 19, props_bounds.
TEST_P(PropertiesEveryAbi, RefuseDevicesThatAreNotThere) {
  int count = 0;
  ASSERT_EQ(net().devices(&count), NCCL_NET_SUCCESS);
  for (const int dev : {-1, count, 9999, INT_MAX, INT_MIN}) {
    Properties p;
    EXPECT_NE(net().get_properties(dev, &p), NCCL_NET_SUCCESS) << dev;
  }
}

// Case 20, props_stable; every field written, whatever the struct held before.
TEST_P(PropertiesEveryAbi, AreWrittenInFullAndStable) {
  const auto first = all_properties(net(), 0xEE);
  const auto second = all_properties(net(), 0x11);
  ASSERT_EQ(first.size(), second.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < first.size(); ++i) {
    expect_equal(first[i], second[i], "filled with 0xEE and with 0x11 before the call");
    names.emplace_back(first[i].name);
  }
  OpenNet other(GetParam());
  const auto third = all_properties(net(), 0x77);
  for (size_t i = 0; i < first.size(); ++i) {
    expect_equal(first[i], third[i], "after another init");
    EXPECT_EQ(names[i], first[i].name) << "the text behind the pointer changed";
  }
}

// Case 21, props_unique.
TEST_P(PropertiesEveryAbi, AreUniqueAndInRange) {
  std::set<std::string> names;
  std::set<std::pair<uint64_t, int>> ports;
  const auto all = all_properties(net());
  EXPECT_LE(all.size(), static_cast<size_t>(NCCL_NET_MAX_DEVICES));
  for (const Properties& p : all) {
    ASSERT_NE(p.name, nullptr);
    const std::string name = p.name;
    EXPECT_FALSE(name.empty());
    EXPECT_LE(name.size(), 254u);
    EXPECT_TRUE(names.insert(name).second) << name << " twice: NCCL would merge the two devices";
    EXPECT_TRUE(ports.insert({p.guid, p.port}).second) << name << " shares its guid and port";
    EXPECT_GE(p.speed, 1000) << name;
    EXPECT_GE(p.latency, 0) << name;
    EXPECT_GE(p.max_recvs, 1) << name;
    EXPECT_GT(p.max_comms, 0) << name;
    EXPECT_EQ(p.net_device_type, NCCL_NET_DEVICE_HOST) << name;
    EXPECT_EQ(p.net_device_version, NCCL_NET_DEVICE_INVALID_VERSION) << name;
    EXPECT_TRUE(p.reg_is_global == 0 || p.reg_is_global == 1) << name;
    EXPECT_TRUE(p.force_flush == 0 || p.force_flush == 1) << name;
    EXPECT_GT(p.max_p2p_bytes, 0u) << name;
    EXPECT_LE(p.max_p2p_bytes, kTebibyte) << name;
    EXPECT_GT(p.max_coll_bytes, 0u) << name;
    EXPECT_LE(p.max_coll_bytes, kTebibyte) << name;
    EXPECT_GE(p.max_multi_request_size, 1) << name;
    EXPECT_GE(p.rail_id, -1) << name;
    EXPECT_GE(p.plane_id, -1) << name;
  }
}

// Case 22, props_pcipath: NULL, or what NCCL can resolve to a PCI function.
TEST_P(PropertiesEveryAbi, NameAPciFunctionOrNone) {
  const std::regex address("[0-9a-fA-F]{4,}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]");
  for (const Properties& p : all_properties(net())) {
    if (p.pci_path == nullptr) continue;
    const std::filesystem::path path = p.pci_path;
    EXPECT_NE(path.string().find('/'), std::string::npos) << path;
    if (!std::regex_match(path.filename().string(), address)) continue;  // "not a PCI device"
    std::error_code error;
    const auto bus = std::filesystem::read_symlink(path / "subsystem", error);
    if (!error) {
      EXPECT_EQ(bus.filename(), "pci") << path;
    }
  }
}

// Case 23, props_ptr_consistent, as far as it goes without a GPU.
TEST_P(PropertiesEveryAbi, AdvertiseOnlyPointersThatCanBeRegistered) {
  constexpr int kKnown = NCCL_NET_PTR_HOST | NCCL_NET_PTR_CUDA | NCCL_NET_PTR_DMABUF;
  for (const Properties& p : all_properties(net())) {
    EXPECT_TRUE(p.ptr_support & NCCL_NET_PTR_HOST) << p.name;
    EXPECT_EQ(p.ptr_support & ~kKnown, 0) << p.name;
    if (p.ptr_support & NCCL_NET_PTR_DMABUF) {
      EXPECT_TRUE(net().has_dmabuf()) << p.name;
    }
  }
}

// Case 24, v9_vprops_identity.
TEST_P(PropertiesEveryAbi, DescribePhysicalDevicesAsThemselves) {
  if (GetParam() < 9) GTEST_SKIP() << "virtual devices came with v9";
  const auto all = all_properties(net());
  for (size_t dev = 0; dev < all.size(); ++dev) {
    EXPECT_EQ(all[dev].vdevice_count, 1) << all[dev].name;
    EXPECT_EQ(all[dev].vdevices, std::vector<int>{static_cast<int>(dev)}) << all[dev].name;
  }
}

TEST_P(PropertiesEveryAbi, RefuseImpossibleVirtualDevices) {
  if (!net().has_make_vdevice()) GTEST_SKIP() << "makeVDevice is NULL, which is legal";
  int before = 0;
  ASSERT_EQ(net().devices(&before), NCCL_NET_SUCCESS);
  const int too_many = GetParam() >= 12 ? NCCL_NET_MAX_VDEVICES_V12 : NCCL_NET_MAX_VDEVICES_V9;
  const std::vector<std::pair<std::vector<int>, int>> bad = {
      {{-1, 0}, 2}, {{before, 0}, 2}, {{9999}, 1}, {{0}, 0}, {{0}, -1}, {{0}, too_many + 1}};
  for (const auto& [members, claimed] : bad) {
    int dev = -1;
    EXPECT_NE(net().make_vdevice(&dev, members, claimed), NCCL_NET_SUCCESS)
        << claimed << " members from " << members[0];
  }
  int after = 0;
  ASSERT_EQ(net().devices(&after), NCCL_NET_SUCCESS);
  EXPECT_EQ(after, before) << "a refused device was added";
}

TEST_P(PropertiesEveryAbi, GrowByAVirtualDeviceOfTwo) {
  RUN_IN_OWN_PROCESS();  // devices stay for the life of the process
  if (!net().has_make_vdevice()) GTEST_SKIP() << "makeVDevice is NULL, which is legal";
  int before = 0;
  ASSERT_EQ(net().devices(&before), NCCL_NET_SUCCESS);
  if (before < 2) GTEST_SKIP() << "one device alone cannot be merged";
  int dev = -1;
  ASSERT_EQ(net().make_vdevice(&dev, {0, 1}, 2), NCCL_NET_SUCCESS);
  EXPECT_EQ(dev, before);
  const auto all = all_properties(net());
  ASSERT_EQ(std::ssize(all), before + 1);
  EXPECT_EQ(all.back().vdevices, (std::vector<int>{0, 1}));
}

INSTANTIATE_FOR_EVERY_ABI(PropertiesEveryAbi);

}  // namespace
}  // namespace fabrail::conformance
