// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Shaping and faults, as values and as they show on traffic.
#include "tests/sim/efa/test/network.h"

#include <cstring>

#include "tests/sim/efa/core/faults.h"
#include "tests/sim/efa/core/shaper.h"

namespace fabrail::sim {
namespace {

constexpr uint64_t kStart = 1'000'000'000;

TEST(Shaper, GrantsNoMoreThanTheCapOverTime) {
  Network network("cap_bytes_per_s 100000000");
  uint64_t granted = 0;
  uint64_t now = kStart;
  while (now < kStart + 1'000'000'000) {
    const Grant grant = book(network.state(0), network.state(1), 50'000, kStart, now);
    if (grant.granted)
      granted += 50'000;
    else
      now = grant.retry_ns;
  }
  EXPECT_NEAR(static_cast<double>(granted), 1e8, 1e6);  // the lead: less than 1 %
}

TEST(Shaper, KeepsTheRateHoweverLateItIsAsked) {
  Network network("cap_bytes_per_s 100000000");
  uint64_t granted = 0;
  for (uint64_t now = kStart; now <= kStart + 1'000'000'000; now += 50'000'000)
    while (book(network.state(0), network.state(1), 50'000, kStart, now).granted) granted += 50'000;
  EXPECT_NEAR(static_cast<double>(granted), 1e8, 1e6);
}

TEST(Shaper, IdleTimeIsNotSaved) {
  Network network("cap_bytes_per_s 100000000");
  book(network.state(0), network.state(1), 50'000, kStart, kStart);
  const uint64_t later = kStart + 1'000'000'000;
  EXPECT_EQ(book(network.state(0), network.state(1), 50'000, later, later).finish_ns,
            later + 500'000);
}

TEST(Shaper, TellsHowTheLinkSpentItsTime) {
  Network network("cap_bytes_per_s 100000000");
  book(network.state(0), network.state(1), 50'000, kStart, kStart);
  book(network.state(0), network.state(1), 50'000, kStart, kStart);  // queued behind the first
  book(network.state(0), network.state(1), 50'000, kStart + 3'000'000, kStart + 3'000'000);
  const Direction& sent = network.state(0).link.transmit;
  EXPECT_EQ(sent.busy_ns, 1'500'000u);
  EXPECT_EQ(sent.idle_ns, 2'000'000u);
  EXPECT_EQ(network.state(1).link.receive.busy_ns, 1'500'000u);
  EXPECT_EQ(network.state(1).link.transmit.busy_ns, 0u);
}

TEST(Shaper, SlowerEndDecides) {
  Network network;
  network.state(0).shape.rate_bytes_per_s = 1'000'000'000;
  network.state(1).shape.rate_bytes_per_s = 1'000'000;
  const Grant first = book(network.state(0), network.state(1), 10'000, kStart, kStart);
  ASSERT_TRUE(first.granted);
  EXPECT_EQ(first.finish_ns, kStart + 10'000'000);
  EXPECT_FALSE(book(network.state(0), network.state(1), 10'000, kStart, kStart).granted);
  EXPECT_TRUE(book(network.state(1), network.state(0), 10'000, kStart, kStart).granted);
}

TEST(Shaper, TrafficTakesItsTime) {
  Network network("cap_bytes_per_s 50000000\nlatency_ns 1000000");
  Endpoint near(network.device(0), {.memory_bytes = 1 << 20});
  Endpoint far(network.device(1), {.memory_bytes = 1 << 20});
  const uint64_t begun = now_ns();
  ASSERT_EQ(near.post(rdma_request(1, Operation::kWrite, near, 1 << 20, far)), 0);
  EXPECT_EQ(near.wait().status, Status::kOk);
  // 21 ms at the cap, and 2 ms there and back: a lower bound, true on any machine.
  EXPECT_GE(now_ns() - begun, 22'900'000u);
}

TEST(Shaper, GivesTheLinkToTheOldestTransfer) {
  Network network("cap_bytes_per_s 50000000");
  Endpoint near(network.device(0), {.memory_bytes = 1 << 20});
  Endpoint far(network.device(1), {.memory_bytes = 1 << 20});
  ASSERT_EQ(near.post(rdma_request(1, Operation::kWrite, near, 64 << 10, far)), 0);
  ASSERT_EQ(near.post(rdma_request(2, Operation::kWrite, near, 1 << 20, far)), 0);
  EXPECT_EQ(near.wait().id, 1u);
  ASSERT_EQ(near.post(rdma_request(3, Operation::kWrite, near, 256 << 10, far)), 0);
  EXPECT_EQ(near.wait().id, 2u);
  EXPECT_EQ(near.wait().id, 3u);
}

struct Hit {
  Network network;
  Endpoint near{network.device(0)};
  Endpoint far{network.device(1)};

  Status outcome(const WorkRequest& request) {
    EXPECT_EQ(near.post(request), 0);
    return near.wait().status;
  }
  WorkRequest write() { return rdma_request(1, Operation::kWrite, near, 100, far); }
};

TEST(Fault, HitsTheNthOperationOnly) {
  Hit hit;
  ASSERT_TRUE(
      plant(hit.network.state(0),
            {.operations = kOnWrite, .status = Status::kUnknownPeer, .skip = 2, .times = 1}));
  const Status expected[] = {Status::kOk, Status::kOk, Status::kUnknownPeer, Status::kOk};
  for (const Status status : expected) EXPECT_EQ(hit.outcome(hit.write()), status);
}

TEST(Fault, ConcernsOnlyItsPeerAndOperation) {
  Hit hit;
  plant(hit.network.state(0), {.operations = kOnRead});
  plant(hit.network.state(0), {.peer = Address{1, 1}.packed()});
  EXPECT_EQ(hit.outcome(hit.write()), Status::kOk);
  WorkRequest read = hit.write();
  read.operation = Operation::kRead;
  EXPECT_EQ(hit.outcome(read), Status::kRemoteAbort);
  lift_all(hit.network.state(0));
  EXPECT_EQ(hit.outcome(read), Status::kOk);
}

TEST(Fault, DrawsTheSameNumbersForTheSameSeed) {
  const auto failures = [](uint32_t seed) {
    Hit hit;
    hit.network.state(0).shape.seed = seed;
    plant(hit.network.state(0), {.per_million = 300'000});
    std::string pattern;
    for (int i = 0; i < 64; ++i) pattern += hit.outcome(hit.write()) == Status::kOk ? '.' : 'x';
    return pattern;
  };
  EXPECT_EQ(failures(7), failures(7));
  EXPECT_NE(failures(7), failures(8));
}

TEST(Fault, StallHoldsUntilItIsLifted) {
  Hit hit;
  const auto rule = plant(hit.network.state(0), {.actions = kFaultStall});
  ASSERT_TRUE(rule);
  ASSERT_EQ(hit.near.post(hit.write()), 0);
  Completion completion;
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(hit.near.poll(completion));
  lift(hit.network.state(0), *rule);
  EXPECT_EQ(hit.near.wait().status, Status::kOk);
}

TEST(Fault, CorruptionReachesTheTarget) {
  Hit hit;
  hit.near.fill(4);
  plant(hit.network.state(0), {.actions = kFaultCorrupt});
  EXPECT_EQ(hit.outcome(hit.write()), Status::kOk);
  EXPECT_NE(hit.far.memory()[0], hit.near.memory()[0]);
  EXPECT_EQ(hit.far.memory()[1], hit.near.memory()[1]);
}

/// Whether the byte lies in the half of its aligned unit that a torn operation moves at first.
bool comes_first(const Endpoint& target, size_t offset, uint64_t unit) {
  return target.address(offset) % unit >= unit / 2;
}

TEST(Fault, TornWritesShowSecondHalvesFirst) {
  struct Case {
    FaultAction action;
    uint64_t unit;
  };
  for (const Case& each : {Case{kFaultTear8, 8}, Case{kFaultTear128, 128}}) {
    Hit hit;
    hit.near.fill(4);
    hit.far.fill(9);
    plant(hit.network.state(0),
          {.actions = each.action, .delay_ns = 3'600'000 * kMillisecond, .times = 1});
    ASSERT_EQ(hit.near.post(rdma_request(1, Operation::kWrite, hit.near, 1000, hit.far)), 0);
    WorkRequest next = rdma_request(2, Operation::kWrite, hit.near, 1, hit.far);
    next.remote_address += 2000;
    ASSERT_EQ(hit.near.post(next), 0);
    EXPECT_EQ(hit.near.wait().id, 2u);
    for (size_t i = 0; i < 1000; ++i)
      EXPECT_EQ(hit.far.memory()[i], pattern(i, comes_first(hit.far, i, each.unit) ? 4 : 9)) << i;
  }
}

TEST(Fault, TornOperationsCompleteWhenAllBytesAreThere) {
  constexpr uint32_t kBytes = (64 << 10) - 3;
  for (const FaultAction action : {kFaultTear8, kFaultTear128}) {
    for (const uint32_t bytes : {1u, 100u, kBytes}) {
      Hit hit;
      plant(hit.network.state(0), {.actions = action, .delay_ns = kMillisecond});
      hit.near.fill(4);
      EXPECT_EQ(hit.outcome(rdma_request(1, Operation::kWrite, hit.near, bytes, hit.far)),
                Status::kOk);
      EXPECT_EQ(std::memcmp(hit.far.memory().data(), hit.near.memory().data(), bytes), 0);
      EXPECT_EQ(counted(hit.network.state(0), Counter::kWriteBytes), bytes);
      hit.far.fill(5);
      EXPECT_EQ(hit.outcome(rdma_request(2, Operation::kRead, hit.near, bytes, hit.far)),
                Status::kOk);
      EXPECT_EQ(std::memcmp(hit.far.memory().data(), hit.near.memory().data(), bytes), 0);
    }
  }
}

TEST(Fault, DuplicateWritesAgain) {
  Hit hit;
  plant(hit.network.state(0), {.actions = kFaultDuplicate});
  EXPECT_EQ(hit.outcome(hit.write()), Status::kOk);
  EXPECT_GT(counted(hit.network.state(0), Counter::kRetransmittedPackets), 0u);
}

TEST(Fault, NotReadyStormIsRetried) {
  Hit hit;
  plant(hit.network.state(0), {.actions = kFaultNotReady, .per_million = 500'000});
  for (uint64_t i = 0; i < 50; ++i) ASSERT_EQ(hit.far.receive(i, 0, 100), 0);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(hit.outcome(send_request(1, hit.near, 100, hit.far)), Status::kOk);
}

TEST(Fault, LinkDownIsUnresponsiveAfterAWhile) {
  Hit hit;
  hit.network.state(1).shape.link_down = 1;
  EXPECT_EQ(hit.outcome(hit.write()), Status::kUnresponsive);
  hit.network.state(1).shape.link_down = 0;
  EXPECT_EQ(hit.outcome(hit.write()), Status::kOk);
}

TEST(Fault, LostDeviceFlushesAndRefuses) {
  Hit hit;
  plant(hit.network.state(0), {.actions = kFaultStall});
  ASSERT_EQ(hit.near.post(hit.write()), 0);
  hit.network.state(0).shape.lost = 1;
  EXPECT_EQ(hit.near.wait().status, Status::kFlushed);
  EXPECT_EQ(hit.near.post(hit.write()), EIO);
}

}  // namespace
}  // namespace fabrail::sim
