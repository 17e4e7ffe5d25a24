// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group A: what a plugin's file exports, and init and finalize in every way that NCCL calls them.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/elf_file.h"
#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

bool starts_with_any(const std::string& text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return text.rfind(prefix, 0) == 0; });
}

size_t table_size(int abi) {
  constexpr std::array<size_t, 7> kSizes = {
      sizeof(nccl_net_v6_t),  sizeof(nccl_net_v7_t),  sizeof(nccl_net_v8_t), sizeof(nccl_net_v9_t),
      sizeof(nccl_net_v10_t), sizeof(nccl_net_v11_t), sizeof(nccl_net_v12_t)};
  return kSizes.at(static_cast<size_t>(abi - kOldestAbi));
}

// Case 2, symbols_exported.
TEST(Loading, ExportsEachTableAsDataOfItsFullSize) {
  const ElfFile file = read_elf(options().plugin);
  for (const int abi : library().abis()) {
    const std::string name = "ncclNetPlugin_v" + std::to_string(abi);
    const auto found = std::find_if(file.exported.begin(), file.exported.end(),
                                    [&](const ExportedSymbol& s) { return s.name == name; });
    ASSERT_NE(found, file.exported.end()) << name;
    EXPECT_TRUE(found->is_object) << name << " must be the table itself";
    EXPECT_GE(found->size, table_size(abi)) << name;
  }
}

TEST(Loading, ExportsNothingButTheTablesOfAllVersions) {
  if (!options().own_plugin) GTEST_SKIP() << "a promise of fabrail's own library";
  std::vector<std::string> found;
  for (const auto& symbol : read_elf(options().plugin).exported) found.push_back(symbol.name);
  std::vector<std::string> wanted;
  for (int abi = kOldestAbi; abi <= kNewestAbi; ++abi) {
    wanted.push_back("ncclNetPlugin_v" + std::to_string(abi));
  }
  std::sort(found.begin(), found.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(found, wanted);
}

TEST(Loading, NeedsNothingButLibc) {
  if (!options().own_plugin) GTEST_SKIP() << "a promise of fabrail's own library";
  std::vector<std::string> allowed = {"libc.so",  "libm.so",  "libpthread.so",
                                      "libdl.so", "librt.so", "ld-linux"};
#ifdef FABRAIL_TEST_SANITIZED
  allowed.insert(allowed.end(),
                 {"libasan.so", "libubsan.so", "libtsan.so", "libstdc++.so", "libgcc_s.so"});
#endif
  for (const std::string& name : read_elf(options().plugin).needed) {
    EXPECT_TRUE(starts_with_any(name, allowed)) << name;
  }
}

// Case 3, dlopen_now_local. The file is opened before main: reaching this line is half of the test.
TEST(Loading, OpensInACleanEnvironment) {
  RUN_IN_OWN_PROCESS({"LD_LIBRARY_PATH=", "LD_PRELOAD="});
  EXPECT_EQ(library().error(), "");
  void* const again = dlopen(options().plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_EQ(again, library().native());
}

// Case 4, name_static.
TEST(Loading, NamesItselfBeforeInitAndAlike) {
  RUN_IN_OWN_PROCESS();
  std::vector<std::string> names;
  for (const int abi : options().abis) {
    Net net(library(), abi);
    const char* const before = net.name();
    ASSERT_NE(before, nullptr);
    names.emplace_back(before);
    EXPECT_EQ(net.init(), NCCL_NET_SUCCESS);
    EXPECT_EQ(net.name(), before) << "init changed the name";
    EXPECT_EQ(names.back(), before);
    if (net.has_context()) net.finalize();
  }
  EXPECT_EQ(std::count(names.begin(), names.end(), names.front()), std::ssize(names));
  EXPECT_FALSE(names.front().empty());
}

// Table 2.2: NULL slots that NCCL calls without looking.
TEST(Loading, HasFinalizeFromV11) {
  for (const int abi : options().abis) {
    if (abi >= 11) {
      EXPECT_TRUE(Net(library(), abi).has_finalize()) << abi;
    }
  }
}

class InitEveryAbi : public EveryAbiTest {};

std::vector<std::string> device_names(const Net& net) {
  int count = 0;
  EXPECT_EQ(net.devices(&count), NCCL_NET_SUCCESS);
  std::vector<std::string> names;
  for (int dev = 0; dev < count; ++dev) {
    Properties p;
    EXPECT_EQ(net.get_properties(dev, &p), NCCL_NET_SUCCESS);
    names.emplace_back(p.name == nullptr ? "" : p.name);
  }
  return names;
}

// Case 11, init_twice: NCCL with NCCL_NET_PLUGIN_REF_COUNT=1 calls init again, no finalize between.
TEST_P(InitEveryAbi, IsCallableAgainAndKeepsItsDevices) {
  const auto before = device_names(net());
  EXPECT_FALSE(before.empty());
  Net second(library(), GetParam());
  EXPECT_EQ(second.init(), NCCL_NET_SUCCESS);
  EXPECT_EQ(device_names(second), before);
  EXPECT_EQ(device_names(net()), before);
  if (second.has_context()) {
    EXPECT_EQ(second.finalize(), NCCL_NET_SUCCESS);
  }
}

TEST_P(InitEveryAbi, KeepsConnectionsWhenCalledAgain) {
  Pair pair = connect_loopback(net());
  ASSERT_TRUE(pair);
  Net second(library(), GetParam());
  EXPECT_EQ(second.init(), NCCL_NET_SUCCESS);
  EXPECT_TRUE(works(net(), pair));
  if (second.has_context()) {
    EXPECT_EQ(second.finalize(), NCCL_NET_SUCCESS);
  }
  EXPECT_TRUE(works(net(), pair));
}

INSTANTIATE_FOR_EVERY_ABI(InitEveryAbi);

class InitWithoutDevice : public testing::TestWithParam<int> {};

// Case 12, init_no_device: an error from init is a SIGSEGV in NCCL 2.28.3 to 2.29.3 up to v10.
TEST_P(InitWithoutDevice, SucceedsAndReportsNoDevices) {
  RUN_IN_OWN_PROCESS({"FABRAIL_PROVIDER=no-such-provider", "FI_PROVIDER=no-such-provider"});
  Net net(library(), GetParam());
  const Result result = net.init();
  if (!net.has_context()) {
    ASSERT_EQ(result, NCCL_NET_SUCCESS);
  }
  int count = -1;
  if (result == NCCL_NET_SUCCESS) {
    EXPECT_EQ(net.devices(&count), NCCL_NET_SUCCESS);
    EXPECT_GE(count, 0);
    if (options().own_plugin) {
      EXPECT_EQ(count, 0);
    }
  }
  // NCCL 2.28 calls finalize after a failed init too.
  if (net.has_context()) {
    EXPECT_EQ(net.finalize(), NCCL_NET_SUCCESS);
  }
}

INSTANTIATE_FOR_EVERY_ABI(InitWithoutDevice);

class InitWithContext : public testing::TestWithParam<int> {};

// Case 14, v11_ctx_pairs.
TEST_P(InitWithContext, KeepsEachContextUntilItsOwnFinalize) {
  if (GetParam() < 11) GTEST_SKIP() << "contexts came with v11";
  std::vector<Net> nets(6, Net(library(), GetParam()));
  for (size_t i = 0; i < nets.size(); ++i) {
    nets[i].session().comm_id = 0x1000 + i;
    ASSERT_EQ(nets[i].init(), NCCL_NET_SUCCESS);
  }
  for (const size_t next : {3u, 0u, 5u, 1u, 4u}) {
    Pair pair = connect_loopback(nets[next]);
    ASSERT_TRUE(pair);
    EXPECT_TRUE(works(nets[next], pair)) << "context " << next;
    pair = {};
    EXPECT_EQ(nets[next].finalize(), NCCL_NET_SUCCESS);
    Pair last = connect_loopback(nets[2]);
    ASSERT_TRUE(last);
    EXPECT_TRUE(works(nets[2], last)) << "the context that is still open, after " << next;
  }
  EXPECT_EQ(nets[2].finalize(), NCCL_NET_SUCCESS);
}

TEST_P(InitWithContext, FinalizesNull) {
  if (GetParam() < 11) GTEST_SKIP() << "contexts came with v11";
  OpenNet open(GetParam());
  EXPECT_EQ(open.net().finalize_context(nullptr), NCCL_NET_SUCCESS);
  Pair pair = connect_loopback(open.net());
  ASSERT_TRUE(pair);
  EXPECT_TRUE(works(open.net(), pair));
}

// Case 16, v11_trafficclass: a context with a class and one without live side by side.
TEST_P(InitWithContext, TakesATrafficClass) {
  if (GetParam() < 10) GTEST_SKIP() << "traffic classes came with v10";
  OpenNet plain(GetParam());
  Net classed(library(), GetParam());
  classed.session().traffic_class = 5;
  ASSERT_EQ(classed.init(), NCCL_NET_SUCCESS);
  for (const Net* net : {&plain.net(), &classed}) {
    Pair pair = connect_loopback(*net);
    ASSERT_TRUE(pair);
    EXPECT_TRUE(works(*net, pair));
  }
  if (classed.has_context()) {
    EXPECT_EQ(classed.finalize(), NCCL_NET_SUCCESS);
  }
}

TEST_P(InitWithContext, ConnectsWithoutAConfigInV10) {
  if (GetParam() != 10) GTEST_SKIP() << "only v10's connect has a config";
  OpenNet open(GetParam());
  open.net().session().connect_without_config = true;
  Pair pair = connect_loopback(open.net());
  ASSERT_TRUE(pair);
  EXPECT_TRUE(works(open.net(), pair));
}

INSTANTIATE_FOR_EVERY_ABI(InitWithContext);

void init_and_look(int abi, int* devices_seen) {
  OpenNet open(abi);
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(open.net().devices(devices_seen), NCCL_NET_SUCCESS);
    for (int dev = 0; dev < *devices_seen; ++dev) {
      Properties p;
      EXPECT_EQ(open.net().get_properties(dev, &p), NCCL_NET_SUCCESS);
      EXPECT_NE(p.name, nullptr);
    }
  }
}

// Case 17, init_threads: one process drives eight GPUs. In a process where nothing was initialised.
TEST(Init, RunsInManyThreadsAtOnce) {
  RUN_IN_OWN_PROCESS();
  std::array<int, 16> seen{};
  std::vector<std::thread> threads;
  threads.reserve(seen.size());
  for (int& devices : seen) threads.emplace_back(init_and_look, primary_abi(), &devices);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(seen[0], 0);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), seen[0]), std::ssize(seen));
}

}  // namespace
}  // namespace fabrail::conformance
