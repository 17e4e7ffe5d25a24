// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group E: single messages, and many in order, through a loopback pair.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/stream.h"

namespace fabrail::conformance {
namespace {

constexpr size_t kMebibyte = 1 << 20;

// The sizes of section 7, and the neighbours of what plugins take for thresholds.
constexpr std::array<size_t, 19> kSizes = {
    0,    1,    7,    8,    63,    64,    127,    128,           129,      1023,
    1025, 4095, 4096, 8193, 65536, 65537, 614400, kMebibyte - 1, kMebibyte};

class TransferEveryAbi : public EveryAbiTest {
 protected:
  void SetUp() override {
    pair_ = connect_loopback(net());
    ASSERT_TRUE(pair_);
  }

  Mr register_send(const Buffer& b) { return {net(), pair_.send.get(), b.bytes()}; }
  Mr register_recv(const Buffer& b) { return {net(), pair_.recv.get(), b.bytes()}; }

  Pair pair_;
};

// Case 61, pingpong_sizes.
TEST_P(TransferEveryAbi, MovesEverySizeBothWays) {
  Pair back = connect_loopback(net());
  ASSERT_TRUE(back);
  Buffer ours(kMebibyte);
  Buffer theirs(kMebibyte);
  Mr our_send = register_send(ours);
  Mr their_recv = register_recv(theirs);
  Mr their_send(net(), back.send.get(), theirs.bytes());
  Mr our_recv(net(), back.recv.get(), ours.bytes());
  for (const size_t size : kSizes) {
    fill_pattern(ours.part(0, size), size);
    theirs.clear();
    ASSERT_TRUE(transfer(net(), pair_, slice(ours.part(0, size), our_send),
                         slice(theirs.part(0, size), their_recv)));
    ASSERT_TRUE(has_pattern(theirs.part(0, size), size));
    ASSERT_TRUE(holds_only(theirs.part(size, kMebibyte - size), kUntouched)) << size;
    ours.clear();
    ASSERT_TRUE(transfer(net(), back, slice(theirs.part(0, size), their_send),
                         slice(ours.part(0, size), our_recv)));
    ASSERT_TRUE(has_pattern(ours.part(0, size), size));
  }
  EXPECT_TRUE(ours.intact());
  EXPECT_TRUE(theirs.intact());
}

// Case 62, zero_byte: into a receive of 0 bytes and of 1 MiB, between neighbours that carry data.
TEST_P(TransferEveryAbi, MovesNothingInOrderWithItsNeighbours) {
  Buffer from(64);
  Buffer to(kMebibyte);
  Mr from_mr = register_send(from);
  Mr to_mr = register_recv(to);
  const std::array<size_t, 6> sizes = {8, 0, 16, 0, 0, 24};
  for (const size_t room_for_nothing : {size_t{0}, kMebibyte}) {
    std::vector<Pending> receives;
    std::vector<Pending> sends;
    for (const size_t size : sizes) {
      const size_t room = size == 0 ? room_for_nothing : 64;
      receives.push_back(post_recv(net(), pair_.recv, {slice(to.part(0, room), to_mr)}));
      sends.push_back(
          post_send(net(), pair_.send, slice(from.part(0, size), from_mr), {&receives.back()}));
      ASSERT_TRUE(sends.back().posted());
    }
    ASSERT_TRUE(finish(net(), receives));
    ASSERT_TRUE(finish(net(), sends));
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(receives[i].sizes[0], static_cast<int>(sizes[i])) << i;
      EXPECT_EQ(sends[i].sizes[0], static_cast<int>(sizes[i])) << i;
    }
  }
  EXPECT_TRUE(holds_only(to.part(64, kMebibyte - 64), kUntouched));
}

// Case 63, recv_larger: what follows the message stays as it was.
TEST_P(TransferEveryAbi, LeavesTheRestOfALargerReceiveAlone) {
  Buffer from(kMebibyte);
  Buffer to(kMebibyte);
  Mr from_mr = register_send(from);
  Mr to_mr = register_recv(to);
  for (const size_t size : kSizes) {
    to.clear();
    fill_pattern(from.part(0, size), size + 1);
    ASSERT_TRUE(
        transfer(net(), pair_, slice(from.part(0, size), from_mr), slice(to.bytes(), to_mr)));
    ASSERT_TRUE(has_pattern(to.part(0, size), size + 1));
    ASSERT_TRUE(holds_only(to.part(size, kMebibyte - size), kUntouched)) << size;
  }
  EXPECT_TRUE(to.intact());
}

// NCCL may stage on one side only. What waits at the receiver until its receive is posted lies
// where the CPU can copy it, and the receive where it cannot.
TEST_P(TransferEveryAbi, MovesFromHostMemoryToAnyMemoryAndBack) {
  Buffer host(kMebibyte, 0, Buffer::Place::kHost);
  Buffer back(kMebibyte, 0, Buffer::Place::kHost);
  Buffer any(kMebibyte);
  Mr host_mr = register_send(host);
  Mr any_in = register_recv(any);
  Mr any_out = register_send(any);
  Mr back_mr = register_recv(back);
  for (const size_t size : kSizes) {
    fill_pattern(host.part(0, size), size + 2);
    any.clear();
    const Slice from = slice(host.part(0, size), host_mr);
    Pending send = try_isend(net(), pair_.send, from);  // what is small leaves
    Pending recv = post_recv(net(), pair_.recv, {slice(any.bytes(), any_in)}, {&send});
    if (!send.posted()) send = post_send(net(), pair_.send, from, {&recv});
    ASSERT_TRUE(finish(net(), {&send, &recv}));
    ASSERT_EQ(recv.sizes[0], static_cast<int>(size));
    ASSERT_TRUE(has_pattern(any.part(0, size), size + 2)) << size;
    ASSERT_TRUE(holds_only(any.part(size, kMebibyte - size), kUntouched)) << size;
    ASSERT_TRUE(transfer(net(), pair_, slice(any.part(0, size), any_out),
                         slice(back.part(0, size), back_mr)));
    ASSERT_TRUE(has_pattern(back.part(0, size), size + 2)) << size;
  }
  EXPECT_TRUE(any.intact());
}

// More small messages at once than there are buffers to write them on from.
TEST_P(TransferEveryAbi, TakesManySmallMessagesThatCameFirst) {
  constexpr size_t kPairs = 20;
  constexpr size_t kMessages = 16;
  constexpr size_t kSize = 96;
  Buffer host(kPairs * kMessages * kSize, 0, Buffer::Place::kHost);
  Buffer any(host.size());
  fill_pattern(host.bytes(), 7);
  std::vector<Pair> pairs;
  std::vector<Mr> mrs;
  std::vector<Pending> sends;
  std::vector<Pending> receives;
  for (size_t i = 0; i < kPairs; ++i) {
    pairs.push_back(connect_loopback(net()));
    ASSERT_TRUE(pairs.back());
    mrs.emplace_back(net(), pairs[i].send.get(), host.bytes());
    mrs.emplace_back(net(), pairs[i].recv.get(), any.bytes());
    for (size_t k = 0; k < kMessages; ++k) {
      const Bytes part = host.part((i * kMessages + k) * kSize, kSize);
      sends.push_back(try_isend(net(), pairs[i].send, slice(part, mrs[2 * i])));
    }
  }
  const bool all_left =
      std::all_of(sends.begin(), sends.end(), [](const Pending& send) { return send.posted(); });
  if (!all_left) GTEST_SKIP() << "nothing leaves before its receive is posted";
  ASSERT_TRUE(finish(net(), sends));
  for (size_t i = 0; i < kPairs; ++i) {
    for (size_t k = 0; k < kMessages; ++k) {
      const Bytes part = any.part((i * kMessages + k) * kSize, kSize);
      receives.push_back(post_recv(net(), pairs[i].recv, {slice(part, mrs[2 * i + 1])}));
      ASSERT_TRUE(receives.back().posted());
    }
  }
  ASSERT_TRUE(finish(net(), receives));
  EXPECT_TRUE(has_pattern(any.bytes(), 7));
}

// Case 66, test_sizes_null. (That done and the sizes are written is checked at every call of test.)
TEST_P(TransferEveryAbi, TestTakesNoSizes) {
  Buffer from(4096);
  Buffer to(4096);
  Mr from_mr = register_send(from);
  Mr to_mr = register_recv(to);
  fill_pattern(from.bytes(), 66);
  std::vector<Pending> both = {post_recv(net(), pair_.recv, {slice(to.bytes(), to_mr)}),
                               post_send(net(), pair_.send, slice(from.bytes(), from_mr))};
  EXPECT_TRUE(poll_until([&] {
    for (Pending& p : both) {
      int done = -1;
      if (!p.done) {
        EXPECT_EQ(net().test(p.request, &done, nullptr), NCCL_NET_SUCCESS);
      }
      p.done = p.done || done == 1;
    }
    return both[0].done && both[1].done;
  }));
  both[0].sizes[0] = 4096;  // as a test with sizes would have said
  EXPECT_TRUE(flush(net(), both[0]));
  EXPECT_TRUE(has_pattern(to.bytes(), 66));
}

// 3.6: v9 and newer may pass 1 in the request slot; the answer must still be a real request.
TEST_P(TransferEveryAbi, TakesTheHintThatCompletionIsOptional) {
  if (GetParam() < 9) GTEST_SKIP() << "the hint came with v9";
  Buffer from(4096);
  Buffer to(4096);
  Mr from_mr = register_send(from);
  Mr to_mr = register_recv(to);
  for (uint64_t i = 0; i < 20; ++i) {
    fill_pattern(from.bytes(), i);
    Pending recv;
    ASSERT_TRUE(poll_until([&] {
      recv = try_irecv(net(), pair_.recv, {slice(to.bytes(), to_mr)}, Hint::kOptionalCompletion);
      return recv.posted() || recv.failed();
    }));
    Pending send = post_send(net(), pair_.send, slice(from.bytes(), from_mr));
    ASSERT_TRUE(finish(net(), {&send, &recv}));
    // Done may come before the data here; the data itself must come.
    volatile const std::byte* const last = to.data() + to.size() - 1;
    ASSERT_TRUE(poll_until([&] { return *last == from.bytes().back(); }));
  }
}

size_t mixed_size(uint64_t number) {
  const uint64_t spread = number * 0x9E3779B97F4A7C15ull >> 32;
  return spread % 5 == 0 ? spread % 32768 : spread % 600;
}

// Case 65, fifo_order: mixed sizes, eight in flight, each message its own pattern.
TEST_P(TransferEveryAbi, KeepsTheOrderOfMessages) {
  const StreamPlan plan{sized<uint64_t>(1500, 100'000), 32768, mixed_size};
  SendStream send(net(), pair_.send, plan);
  RecvStream recv(net(), pair_.recv, plan);
  run_streams(send, recv, Deadline(sized(2 * kPatience, 20 * kPatience)));
  EXPECT_TRUE(recv.intact());
}

INSTANTIATE_FOR_EVERY_ABI(TransferEveryAbi);

}  // namespace
}  // namespace fabrail::conformance
