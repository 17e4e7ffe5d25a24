// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Device memory of the emulated GPU registered on an emulated EFA NIC through libfabric's own
// provider, each way that this libfabric has, and bytes moved to it and back.
#include <gtest/gtest.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "src/fabric/compat.h"
#include "src/fabric/device_probe.h"
#include "src/gpu/path.h"
#include "src/gpu/probe_buffer.h"
#include "tests/gpu/registration.h"

namespace fabrail {
namespace {

using fabric::DeviceRange;
using fabric::MemoryRegion;
using gpu::Path;

class Faults {
 public:
  explicit Faults(const char* spec) { EXPECT_EQ(emugpu_set_faults(spec), 0); }
  ~Faults() { emugpu_set_faults(""); }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
};

TEST(DeviceDiscovery, KeepsEveryNicAndItsInterface) {
  const Machine& m = machine();
  const auto plain = take(fabric::discover(m.library, efa_nics(false)));
  ASSERT_EQ(plain.nics.size(), m.discovery.nics.size());
  for (std::size_t i = 0; i < plain.nics.size(); ++i) {
    EXPECT_EQ(plain.nics[i].name, m.discovery.nics[i].name);
    EXPECT_EQ(plain.nics[i].network, m.discovery.nics[i].network);
    EXPECT_FALSE(plain.nics[i].caps.device_memory);
  }
}

TEST(DeviceProbe, FindsExactlyWhatThisLibfabricCanDo) {
  std::string ways;
  for (const Path path : usable_paths()) ways += std::string(" ") + gpu::path_name(path) + ";";
  std::printf("%s on %s:%s\n", machine().library.path.c_str(),
              machine().endpoint->nic().network.c_str(), ways.c_str());
  EXPECT_EQ(working_paths(probe()), possible_registrations());
}

TEST(DeviceProbe, LeavesNothingRegistered) {
  const std::uint64_t before = machine().endpoint->live_regions().count;
  probe();
  EXPECT_EQ(machine().endpoint->live_regions().count, before);
}

TEST(DeviceProbe, SaysWhatIsMissing) {
  const fabric::DeviceProbes probes = probe();
  if (!has_cuda()) {
    ASSERT_FALSE(probes.peer_memory.ok());
    EXPECT_EQ(probes.peer_memory.error().code, Code::kUnsupported);
    gpu::expect_parts(probes.peer_memory.error(), {"offers no CUDA memory (FI_HMEM) on NIC"});
  }
  if (!knows_dmabuf()) {
    ASSERT_FALSE(probes.dmabuf_as_host.ok());
    EXPECT_EQ(probes.dmabuf_as_host.error().code, Code::kUnsupported);
    gpu::expect_parts(probes.dmabuf_as_host.error(), {"knows no dma-buf", "1.20 is the first"});
  }
  EXPECT_TRUE(!has_cuda() || !knows_dmabuf() || probes.dmabuf.ok());
}

TEST(DeviceProbe, FindsOnlyPeerMemoryWithoutExport) {
  const Faults faults("export");
  const fabric::DeviceProbes probes = probe();
  std::vector<Path> rest = possible_registrations();
  std::erase_if(rest, gpu::takes_dmabuf);
  EXPECT_EQ(working_paths(probes), rest);
  gpu::expect_parts(probes.dmabuf_as_host.error(), {"cuMemGetHandleForAddressRange", "801"});
}

TEST(DeviceProbe, FindsNoPeerMemoryWhereTheNicCannotPin) {
  const Faults faults("register");
  const fabric::DeviceProbes probes = probe();
  ASSERT_FALSE(probes.peer_memory.ok());
  if (has_cuda() && !knows_dmabuf())
    gpu::expect_parts(probes.peer_memory.error(), {"by peer memory", "efa_nv_peermem"});
  ASSERT_FALSE(probes.peer_memory_as_host.ok());
  gpu::expect_parts(
      probes.peer_memory_as_host.error(),
      {"of a GPU by peer memory, as host memory, at 0x", "Bad address", "efa_nv_peermem"});
}

TEST(DeviceDecision, TakesTheBestOfWhatWorks) {
  const std::vector<Path> usable = usable_paths();
  const gpu::PathDecision decision = decide();
  EXPECT_EQ(decision.path, usable.empty() ? Path::kNone : usable.front()) << decision.explanation();
}

TEST(DeviceDecision, FallsBackWhenTheDriverExportsNothing) {
  const Faults faults("export");
  const gpu::PathDecision decision = decide();
  const Path without_cuda = is_direct() ? Path::kPeerMemoryAsHost : Path::kNone;
  EXPECT_EQ(decision.path, has_cuda() ? Path::kPeerMemory : without_cuda) << decision.explanation();
}

TEST(DeviceDecision, SaysWhyNothingWorks) {
  const Faults faults("export,register");
  const gpu::PathDecision decision = decide();
  EXPECT_EQ(decision.path, Path::kNone);
  const std::string text = decision.explanation();
  EXPECT_NE(text.find(knows_dmabuf() && (has_cuda() || is_direct()) ? "tried, and refused"
                                                                    : "built without CUDA"),
            std::string::npos)
      << text;
}

TEST(DeviceRegion, IsReachedByTheNic) {
  const CUdeviceptr base = allocate(16 << 20);
  for (const Path path : usable_paths()) {
    SCOPED_TRACE(gpu::path_name(path));
    const MemoryRegion region = take(open_region(path, base, 16 << 20));
    expect_moves(region, base, 1 << 20);
    expect_moves(region, base + (15 << 20) + 4096, 4096);
    expect_sends(region, base + 64, 100000);
  }
}

TEST(DeviceRegion, MayBeginAnywhereInAnAllocation) {
  const CUdeviceptr base = allocate(4 << 20);
  for (const Path path : usable_paths()) {
    SCOPED_TRACE(gpu::path_name(path));
    const MemoryRegion region = take(open_region(path, base + (1 << 20) + 4096 + 512, 70000));
    expect_moves(region, base + (1 << 20) + 4096 + 512 + 1000, 4000);
  }
}

TEST(DeviceRegion, MayShareAPageAndBeRegisteredTwice) {
  const CUdeviceptr first = allocate(4096);
  const CUdeviceptr second = allocate(4096);
  for (const Path path : usable_paths()) {
    SCOPED_TRACE(gpu::path_name(path));
    std::optional<MemoryRegion> closed(take(open_region(path, first, 4096)));
    const MemoryRegion kept = take(open_region(path, first, 4096));
    const MemoryRegion neighbour = take(open_region(path, second, 4096));
    closed.reset();
    expect_moves(kept, first, 4096);
    expect_moves(neighbour, second, 4096);
  }
}

TEST(DeviceRegion, MayBeVirtualMemory) {
  const CUdeviceptr base = map_piece();
  for (const Path path : usable_paths()) {
    SCOPED_TRACE(gpu::path_name(path));
    expect_moves(take(open_region(path, base, 2 << 20)), base + 4096, 10000);
  }
}

TEST(DeviceRegion, IsCountedWhileItLives) {
  fabric::LiveRegions& live = machine().endpoint->live_regions();
  const std::uint64_t count = live.count;
  const std::uint64_t bytes = live.bytes;
  {
    const HostBuffer buffer{std::vector<char>(5000)};
    EXPECT_EQ(live.count, count + 1);
    EXPECT_EQ(live.bytes, bytes + 5000);
    for (const Path path : usable_paths()) {
      const auto region = open_region(path, allocate(4096), 4096);
      EXPECT_EQ(live.count, count + 2);
    }
  }
  EXPECT_EQ(live.count, count);
  EXPECT_EQ(live.bytes, bytes);
}

TEST(DeviceRegion, OfADescriptorThatIsNoDmabufIsAnError) {
  if (!knows_dmabuf()) GTEST_SKIP() << "this libfabric knows no dma-buf";
  const CUdeviceptr base = allocate(4096);
  const DeviceRange range{.bytes = {static_cast<std::byte*>(gpu::pointer(base)), 4096},
                          .cuda_device = std::nullopt,
                          .dmabuf = fabric::DmabufRange{.fd = -1, .offset = 0}};
  const auto region = MemoryRegion::open_device(*machine().endpoint, range, 1);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.error().code, Code::kSystem);
  gpu::expect_parts(region.error(),
                    {"4096 bytes of a GPU by dma-buf, as host memory, at 0x", "take dma-bufs"});
}

// What the NIC has written is wrong in every byte to whoever looks before a flush.
class Invisible {
 public:
  explicit Invisible(Path path) : region_(take(open_region(path, address_, kBytes))) {
    fi_context2 context{};
    const Machine& m = machine();
    EXPECT_EQ(fi_write(m.endpoint->ep(), source_.data.data(), kBytes, source_.region.descriptor(),
                       m.self, address_, region_.key(), &context),
              0);
    expect_completion();
  }

  void read_back(std::size_t bytes) {
    fi_context2 context{};
    const Machine& m = machine();
    ASSERT_EQ(fi_read(m.endpoint->ep(), target_.data.data(), bytes, target_.region.descriptor(),
                      m.self, address_, region_.key(), &context),
              0);
    expect_completion();
  }
  [[nodiscard]] bool kernel_sees_it() const {
    return std::memcmp(emugpu_kernel_address(gpu::pointer(address_)), source_.data.data(),
                       kBytes) == 0;
  }
  [[nodiscard]] const HostBuffer& source() const { return source_; }
  [[nodiscard]] const HostBuffer& target() const { return target_; }

 private:
  static constexpr std::size_t kBytes = 100000;
  CUdeviceptr address_ = allocate(kBytes);
  MemoryRegion region_;
  HostBuffer source_{pattern(kBytes)};
  HostBuffer target_{std::vector<char>(kBytes)};
};

bool is_delayed() { return std::getenv("EMUGPU_VISIBLE_AFTER_MS") != nullptr; }

TEST(DelayedWrites, AreSeenAfterAReadOfOneByteThroughTheNic) {
  if (!is_delayed()) GTEST_SKIP() << "has a test of its own";
  for (const Path path : usable_paths()) {
    SCOPED_TRACE(gpu::path_name(path));
    Invisible written(path);
    EXPECT_FALSE(written.kernel_sees_it());
    written.read_back(1);
    EXPECT_TRUE(written.kernel_sees_it());
  }
}

TEST(DelayedWrites, AreRightForTheNicItself) {
  if (!is_delayed()) GTEST_SKIP() << "has a test of its own";
  for (const Path path : usable_paths()) {
    SCOPED_TRACE(gpu::path_name(path));
    Invisible written(path);
    written.read_back(100000);
    EXPECT_EQ(written.target().data, written.source().data);
  }
}

TEST(DelayedWrites, AreSeenAfterTheDriversFlush) {
  if (!is_delayed()) GTEST_SKIP() << "has a test of its own";
  for (const Path path : usable_paths()) {
    SCOPED_TRACE(gpu::path_name(path));
    const Invisible written(path);
    EXPECT_FALSE(written.kernel_sees_it());
    EXPECT_TRUE(machine().driver->flush(0).ok());
    EXPECT_TRUE(written.kernel_sees_it());
  }
}

TEST(Endpoint, PromisesToLeaveDeviceMemoryToTheNic) {
  EXPECT_TRUE(machine().endpoint->promises().nic_moves_all || !has_cuda());
}

// Runs alone, on a network whose NICs take few regions.
TEST(FullNic, SaysHowMuchIsRegisteredAndKeepsIt) {
  if (std::getenv("FABRAIL_TEST_FULL_NIC") == nullptr) GTEST_SKIP() << "has a test of its own";
  Machine& m = machine();
  HostBuffer source(pattern(4096));
  HostBuffer target{std::vector<char>(4096)};
  expect_copies(source, target);  // so that the provider has registered all that it needs itself
  std::vector<std::byte> more(4096);
  std::vector<MemoryRegion> regions;
  std::optional<Error> error;
  while (!error && regions.size() < 1000) {
    auto region = MemoryRegion::open(*m.endpoint, more, m.next_key++);
    if (region.ok()) {
      regions.push_back(region.take());
    } else {
      error = region.error();
    }
  }
  ASSERT_TRUE(error) << "the NIC never gets full";
  const std::uint64_t count = regions.size() + 2;
  EXPECT_EQ(m.endpoint->live_regions().count, count);
  const std::string counted =
      std::to_string(count * 4096) + " bytes in " + std::to_string(count) + " regions on this NIC";
  gpu::expect_parts(*error, {"Cannot allocate memory", "RLIMIT_MEMLOCK", counted.c_str()});
  std::fill(target.data.begin(), target.data.end(), 0);
  expect_copies(source, target);
}

}  // namespace
}  // namespace fabrail
