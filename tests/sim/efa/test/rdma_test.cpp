// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// RDMA reads and writes: data, keys, immediates, large transfers, what happens to late ones.
#include <cstring>
#include <mutex>

#include "tests/sim/efa/core/device_memory.h"
#include "tests/sim/efa/test/network.h"

namespace fabrail::sim {
namespace {

constexpr uint32_t kLarge = 3 << 20;  // several pieces of the engine

struct Pair {
  explicit Pair(const std::string& extra = "", const EndpointOptions& options = {})
      : network(extra), near(network.device(0), options), far(network.device(1), options) {}
  Network network;
  Endpoint near;
  Endpoint far;
};

TEST(Rdma, WritesAndReadsWithoutTheTargetsHelp) {
  for (const uint32_t bytes : {1u, 4096u, kPosterRdmaBytes + 1, kLarge}) {
    Pair pair("", {.memory_bytes = kLarge});
    pair.near.fill(1);
    ASSERT_EQ(pair.near.post(rdma_request(1, Operation::kWrite, pair.near, bytes, pair.far)), 0);
    const Completion written = pair.near.wait();
    EXPECT_EQ(written.status, Status::kOk);
    EXPECT_EQ(written.kind, CompletionKind::kWrite);
    EXPECT_EQ(std::memcmp(pair.near.memory().data(), pair.far.memory().data(), bytes), 0);
    pair.far.fill(2);
    ASSERT_EQ(pair.near.post(rdma_request(2, Operation::kRead, pair.near, bytes, pair.far)), 0);
    EXPECT_EQ(pair.near.wait().kind, CompletionKind::kRead);
    EXPECT_EQ(std::memcmp(pair.near.memory().data(), pair.far.memory().data(), bytes), 0);
  }
}

TEST(Rdma, ShuffledPiecesStillMakeTheWhole) {
  Pair pair("shuffle 8", {.memory_bytes = kLarge});
  for (uint8_t round = 0; round < 5; ++round) {
    pair.near.fill(round);
    ASSERT_EQ(pair.near.post(rdma_request(1, Operation::kWrite, pair.near, kLarge - 13, pair.far)),
              0);
    EXPECT_EQ(pair.near.wait().status, Status::kOk);
    EXPECT_EQ(std::memcmp(pair.near.memory().data(), pair.far.memory().data(), kLarge - 13), 0);
  }
}

TEST(Rdma, WholeUnitsAreCopiedLikeAllElse) {
  for (const char* order : {"shuffle 0", "shuffle 8"}) {
    Pair pair(std::string("rdma read write unsolicited whole128\n") + order,
              {.memory_bytes = kLarge});
    for (const uint32_t bytes : {1u, 127u, 5000u, kLarge - 77}) {
      pair.near.fill(static_cast<uint8_t>(bytes));
      pair.far.fill(0);
      WorkRequest request = rdma_request(1, Operation::kWrite, pair.near, bytes, pair.far);
      request.remote_address += 77;
      ASSERT_EQ(pair.near.post(request), 0);
      EXPECT_EQ(pair.near.wait().status, Status::kOk);
      EXPECT_EQ(std::memcmp(pair.near.memory().data(), pair.far.memory().data() + 77, bytes), 0);
    }
  }
}

std::vector<Piece> pieces_of(uint64_t target, size_t bytes, const Texture& texture) {
  std::vector<Piece> all;
  for_each_piece(target, bytes, texture, [&](Piece piece) {
    all.push_back(piece);
    return true;
  });
  return all;
}

TEST(Pieces, RiseWithinUnitsOfWhichTheLastMayBeFirst) {
  const std::vector<Piece> rising{{0, 5}, {5, 8}, {13, 8}, {21, 1}};
  EXPECT_EQ(pieces_of(115, 22, {Texture::kWholeUnits, 128, false}), rising);
  const std::vector<Piece> last_first{{13, 8}, {21, 1}, {0, 5}, {5, 8}};
  EXPECT_EQ(pieces_of(115, 22, {Texture::kWholeUnits, 128, true}), last_first);
}

TEST(Pieces, HalvesOfUnitsMakeTheWhole) {
  const std::vector<Piece> second{{1, 4}, {9, 1}};
  EXPECT_EQ(pieces_of(11, 10, {Texture::kSecondHalves, 8, false}), second);
  const std::vector<Piece> first{{0, 1}, {5, 4}};
  EXPECT_EQ(pieces_of(11, 10, {Texture::kFirstHalves, 8, false}), first);
}

TEST(Rdma, ImmediateComesAfterTheDataAndTakesAReceive) {
  Pair pair;
  pair.near.fill(9);
  ASSERT_EQ(pair.far.receive(5, 0, 0), 0);
  WorkRequest request = rdma_request(1, Operation::kWrite, pair.near, 1000, pair.far);
  request.has_immediate = true;
  request.immediate = 42;
  ASSERT_EQ(pair.near.post(request), 0);
  const Completion notice = pair.far.wait();
  EXPECT_EQ(notice.kind, CompletionKind::kReceiveWriteImmediate);
  EXPECT_EQ(notice.id, 5u);
  EXPECT_EQ(notice.immediate, 42u);
  EXPECT_EQ(notice.bytes, 1000u);
  EXPECT_EQ(std::memcmp(pair.near.memory().data(), pair.far.memory().data(), 1000), 0);
  EXPECT_EQ(pair.near.wait().status, Status::kOk);
}

TEST(Rdma, UnsolicitedImmediateTakesNoReceive) {
  Pair pair("", {.unsolicited = true});
  WorkRequest request = rdma_request(1, Operation::kWrite, pair.near, 10, pair.far);
  request.has_immediate = true;
  ASSERT_EQ(pair.near.post(request), 0);
  EXPECT_TRUE(pair.far.wait().unsolicited);
  EXPECT_EQ(pair.near.wait().status, Status::kOk);
}

TEST(Rdma, RefusesForeignStaleAndOutsideKeys) {
  Pair pair;
  Endpoint other(pair.network.device(1));
  const WorkRequest good = rdma_request(1, Operation::kWrite, pair.near, 10, pair.far);
  struct Case {
    const char* name;
    void (*spoil)(WorkRequest&, Pair&);
  };
  const Case cases[] = {
      {"stale generation", [](WorkRequest& r, Pair&) { r.remote_key += 1u << 16; }},
      {"below", [](WorkRequest& r, Pair&) { r.remote_address -= 1; }},
      {"beyond", [](WorkRequest& r, Pair& p) { r.remote_address += p.far.memory().size() - 9; }},
      {"wraps around", [](WorkRequest& r, Pair&) { r.remote_address = ~uint64_t{0} - 4; }},
      {"zero", [](WorkRequest& r, Pair&) { r.remote_key = 0; }},
  };
  for (const Case& each : cases) {
    WorkRequest request = good;
    each.spoil(request, pair);
    ASSERT_EQ(pair.near.post(request), 0);
    EXPECT_EQ(pair.near.wait().status, Status::kRemoteBadAddress) << each.name;
  }
  ASSERT_EQ(pair.near.post(good), 0);
  EXPECT_EQ(pair.near.wait().status, Status::kOk);
}

TEST(Rdma, NeedsTheAccessThatWasRegistered) {
  Pair pair;
  std::vector<uint8_t> memory(100);
  Device& device = pair.network.device(1);
  const uint32_t key = open_region(device.membership(), device.nic(),
                                   {memory.data(), reinterpret_cast<uint64_t>(memory.data()), 100,
                                    Endpoint::kPd, kAccessRemoteRead});
  WorkRequest request = rdma_request(1, Operation::kWrite, pair.near, 10, pair.far);
  request.remote_address = reinterpret_cast<uint64_t>(memory.data());
  request.remote_key = key;
  ASSERT_EQ(pair.near.post(request), 0);
  EXPECT_EQ(pair.near.wait().status, Status::kRemoteBadAddress);
  request.operation = Operation::kRead;
  ASSERT_EQ(pair.near.post(request), 0);
  EXPECT_EQ(pair.near.wait().status, Status::kOk);
  close_region(device.membership(), device.nic(), key);
}

TEST(Rdma, IsUnsupportedWhereTheGenerationCannot) {
  Pair pair("rdma read");
  ASSERT_EQ(pair.near.post(rdma_request(1, Operation::kWrite, pair.near, 10, pair.far)), 0);
  EXPECT_EQ(pair.near.wait().status, Status::kUnsupportedOp);
  ASSERT_EQ(pair.near.post(rdma_request(2, Operation::kRead, pair.near, 10, pair.far)), 0);
  EXPECT_EQ(pair.near.wait().status, Status::kOk);
}

TEST(Rdma, NothingTouchesMemoryAfterItsKeyIsClosed) {
  Pair pair("", {.memory_bytes = kLarge});
  std::vector<uint8_t> target(kLarge);
  Device& device = pair.network.device(1);
  for (int round = 0; round < 10; ++round) {
    const uint32_t key = open_region(device.membership(), device.nic(),
                                     {target.data(), reinterpret_cast<uint64_t>(target.data()),
                                      kLarge, Endpoint::kPd, kAccessRemoteWrite});
    pair.near.fill(static_cast<uint8_t>(round));
    WorkRequest request = rdma_request(1, Operation::kWrite, pair.near, kLarge, pair.far);
    request.remote_address = reinterpret_cast<uint64_t>(target.data());
    request.remote_key = key;
    ASSERT_EQ(pair.near.post(request), 0);
    close_region(device.membership(), device.nic(), key);
    std::fill(target.begin(), target.end(), uint8_t{0xee});
    pair.near.wait();  // either status: the race is the point
    EXPECT_EQ(std::count(target.begin(), target.end(), 0xee), std::ptrdiff_t{kLarge});
  }
}

TEST(Rdma, CountsBytesOnBothNics) {
  Pair pair;
  ASSERT_EQ(pair.near.post(rdma_request(1, Operation::kWrite, pair.near, 1000, pair.far)), 0);
  pair.near.wait();
  ASSERT_EQ(pair.near.post(rdma_request(1, Operation::kRead, pair.near, 500, pair.far)), 0);
  pair.near.wait();
  EXPECT_EQ(counted(pair.network.state(0), Counter::kWriteBytes), 1000u);
  EXPECT_EQ(counted(pair.network.state(0), Counter::kReadBytes), 500u);
  EXPECT_EQ(counted(pair.network.state(0), Counter::kTxBytes), 1000u);
  EXPECT_EQ(counted(pair.network.state(1), Counter::kWriteReceivedBytes), 1000u);
  EXPECT_EQ(counted(pair.network.state(1), Counter::kTxBytes), 500u);
  pair.near.close();
  const std::string file = pair.network.fabric().node_path(0) +
                           "/sys/class/infiniband/rdmap16s27/ports/1/hw_counters/rdma_write_bytes";
  EXPECT_EQ(read_text(file), "1000\n");
}

struct Told {
  char what;
  uint64_t nic;
  uint64_t address;
  size_t bytes;
  bool operator==(const Told&) const = default;
};
std::mutex g_told_mutex;
std::vector<Told> g_told;  // guarded by g_told_mutex

void note(char what, uint64_t nic, const void* address, size_t bytes) {
  const std::lock_guard lock(g_told_mutex);
  g_told.push_back({what, nic, reinterpret_cast<uint64_t>(address), bytes});
}

std::vector<Told> take_told() {
  const std::lock_guard lock(g_told_mutex);
  return std::exchange(g_told, {});
}

TEST(Rdma, TellsTheGpuWhatEachNicDid) {
  connect_device_memory([](uint64_t nic, const void* a, size_t n) { note('w', nic, a, n); },
                        [](uint64_t nic, const void* a, size_t n) { note('r', nic, a, n); });
  Pair pair("", {.unsolicited = true});
  const uint64_t near = pair.network.device(0).nic().address.packed();
  const uint64_t far = pair.network.device(1).nic().address.packed();
  WorkRequest write = rdma_request(1, Operation::kWrite, pair.near, 100, pair.far);
  write.has_immediate = true;
  ASSERT_EQ(pair.near.post(write), 0);
  EXPECT_EQ(pair.near.wait().status, Status::kOk);
  EXPECT_EQ(pair.far.wait().status, Status::kOk);
  EXPECT_EQ(take_told(), (std::vector<Told>{{'r', near, pair.near.address(), 100},
                                            {'w', far, pair.far.address(), 100}}));
  ASSERT_EQ(pair.near.post(rdma_request(2, Operation::kRead, pair.near, 50, pair.far)), 0);
  EXPECT_EQ(pair.near.wait().status, Status::kOk);
  EXPECT_EQ(take_told(), (std::vector<Told>{{'r', far, pair.far.address(), 50},
                                            {'w', near, pair.near.address(), 50}}));
  connect_device_memory(nullptr, nullptr);
}

TEST(Region, TableRunsOutAndSlotsComeBack) {
  Network network("max_regions 3");
  Device& device = network.device(0);
  std::vector<uint32_t> keys;
  char byte = 0;
  const RegionRequest request{&byte, 0, 1, 1, 0};
  for (int i = 0; i < 3; ++i)
    keys.push_back(open_region(device.membership(), device.nic(), request));
  EXPECT_EQ(open_region(device.membership(), device.nic(), request), 0u);
  close_region(device.membership(), device.nic(), keys[0]);
  EXPECT_NE(open_region(device.membership(), device.nic(), request), 0u);
}

}  // namespace
}  // namespace fabrail::sim
