// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Cases 83, 84 and 89: what other threads see of received data, and fairness between comms.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

class Visibility : public PrimaryTest {
 protected:
  void SetUp() override {
    pair_ = connect_loopback(net());
    ASSERT_TRUE(pair_);
  }
  Pair pair_;
};

// Reads each message as soon as the flag says that it is there.
void read_flagged(const Buffer& memory, std::atomic<uint64_t>& flag, std::atomic<uint64_t>& seen,
                  uint64_t count) {
  for (uint64_t i = 1; i <= count; ++i) {
    if (!poll_until([&] { return flag.load(std::memory_order_acquire) >= i; })) return;
    EXPECT_TRUE(has_pattern(memory.bytes(), i)) << "flag " << i << " came before its data";
    seen.store(i, std::memory_order_release);
  }
}

// Case 83, visibility_order: done, then the receiver's flag, then another thread's read.
TEST_F(Visibility, DataIsThereBeforeTheReceiversFlag) {
  for (const size_t size : {size_t{512}, size_t{200'000}}) {
    const auto count = sized<uint64_t>(200, 20'000);
    Buffer from(size);
    Buffer to(size);
    Mr from_mr(net(), pair_.send.get(), from.bytes());
    Mr to_mr(net(), pair_.recv.get(), to.bytes());
    std::atomic<uint64_t> flag{0};
    std::atomic<uint64_t> seen{0};
    std::thread reader([&] { read_flagged(to, flag, seen, count); });
    for (uint64_t i = 1; i <= count; ++i) {
      fill_pattern(from.bytes(), i);
      const auto moved =
          transfer(net(), pair_, slice(from.bytes(), from_mr), slice(to.bytes(), to_mr));
      EXPECT_TRUE(moved);
      if (!moved) break;
      flag.store(i, std::memory_order_release);
      poll_until([&] { return seen.load(std::memory_order_acquire) == i; });
    }
    flag.store(count, std::memory_order_release);
    reader.join();
  }
}

/// Half a line of NCCL's LL protocol: data and its flag in one 8-byte word.
uint64_t ll_word(uint32_t round, size_t index) {
  const auto data = static_cast<uint32_t>(round * 2654435761u + index * 40503u);
  return (uint64_t{round} << 32) | data;
}

// Waits for each word's flag, in order, and counts those whose data is not what came with the flag.
size_t count_torn(std::byte* memory, size_t words, uint32_t round, const std::atomic<bool>& stop) {
  auto* const at = reinterpret_cast<uint64_t*>(memory);
  size_t torn = 0;
  for (size_t i = 0; i < words; ++i) {
    uint64_t word = 0;
    do {
      word = std::atomic_ref(at[i]).load(std::memory_order_acquire);
    } while (word >> 32 != round && !stop);
    torn += word >> 32 == round && word != ll_word(round, i) ? 1 : 0;
  }
  return torn;
}

// Case 84, ll_atomicity: a thread polls 8-byte words while they arrive, before the receive is done.
TEST_F(Visibility, EightByteWordsArriveWhole) {
  if (kThreadSanitizer) GTEST_SKIP() << "reading while data arrives is a race by design";
  if (options().device_memory()) GTEST_SKIP() << "the CPU cannot read a GPU's memory";
  constexpr size_t kWords = 8192;  // a step of LL: 64 KiB
  Buffer from(kWords * sizeof(uint64_t));
  Buffer to(from.size());
  std::memset(to.data(), 0, to.size());
  Mr from_mr(net(), pair_.send.get(), from.bytes());
  Mr to_mr(net(), pair_.recv.get(), to.bytes());
  const auto rounds = sized<uint32_t>(60, 2500);
  for (uint32_t round = 1; round <= rounds; ++round) {
    const size_t words = round % 2 == 0 ? kWords : 64;  // large, and small enough to go eagerly
    for (size_t i = 0; i < kWords; ++i) {
      const uint64_t word = ll_word(round, i);
      std::memcpy(from.data() + i * sizeof word, &word, sizeof word);
    }
    std::atomic<bool> stop{false};
    size_t torn = 0;
    std::thread reader([&] { torn = count_torn(to.data(), words, round, stop); });
    const size_t size = words * sizeof(uint64_t);
    const auto moved =
        transfer(net(), pair_, slice(from.part(0, size), from_mr), slice(to.part(0, size), to_mr));
    stop = !moved;
    reader.join();
    ASSERT_TRUE(moved);
    ASSERT_EQ(torn, 0u) << "of " << words << " words in round " << round;
  }
}

/// One comm among many on a thread, with its own message going round.
struct Lane {
  Lane(const Net& net, size_t size)
      : pair(connect_loopback(net)),
        from(size),
        to(size),
        from_mr(net, pair.send.get(), from.bytes()),
        to_mr(net, pair.recv.get(), to.bytes()) {}

  // Posts and tests whatever can be posted and tested; true when another message is complete.
  bool advance(const Net& net) {
    if (!recv.posted()) recv = try_irecv(net, pair.recv, {slice(to.bytes(), to_mr)});
    if (!send.posted()) {
      fill_pattern(from.bytes(), received);
      send = try_isend(net, pair.send, slice(from.bytes(), from_mr));
    }
    step(net, send);
    step(net, recv);
    EXPECT_FALSE(send.failed() || recv.failed());
    if (!send.done || !recv.done) return false;
    EXPECT_TRUE(has_pattern(to.bytes(), received));
    ++received;
    send = recv = {};
    return true;
  }

  Pair pair;
  Buffer from;
  Buffer to;
  Mr from_mr;
  Mr to_mr;
  Pending send;
  Pending recv;
  uint64_t received = 0;
};

std::string slowest(const std::vector<std::unique_ptr<Lane>>& lanes) {
  const auto& lane = **std::min_element(lanes.begin(), lanes.end(),
                                        [](auto& a, auto& b) { return a->received < b->received; });
  return "of one comm only " + std::to_string(lane.received) + " messages arrived; its isend is " +
         (lane.send.done       ? "done"
          : lane.send.posted() ? "posted"
                               : "refused") +
         ", its irecv " +
         (lane.recv.done       ? "done"
          : lane.recv.posted() ? "posted"
                               : "refused");
}

// Case 89, starvation: many comms on one progress thread, one of them saturating it.
TEST_F(Visibility, OneBusyCommDoesNotStarveTheOthers) {
  constexpr uint64_t kEach = 30;
  Lane busy(net(), 1 << 20);
  std::vector<std::unique_ptr<Lane>> others;
  for (int i = 0; i < sized(24, 64); ++i)
    others.push_back(std::make_unique<Lane>(net(), 300 * (i + 1)));
  ASSERT_TRUE(poll_until([&] {
    busy.advance(net());
    bool all = true;
    for (auto& lane : others) {
      if (lane->received < kEach) lane->advance(net());
      all = all && lane->received >= kEach;
    }
    return all || HasFailure();
  })) << slowest(others);
  EXPECT_FALSE(HasFailure());
}

}  // namespace
}  // namespace fabrail::conformance
