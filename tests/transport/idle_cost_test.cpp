// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What a connected pair of communicators costs while it is idle: NCCL makes thousands.
#include <malloc.h>

#include <cstdio>

#include "tests/transport/two_engines.h"

// A sanitizer's allocator does not keep the count.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounted = false;
#else
constexpr bool kCounted = true;
#endif

namespace fabrail::transport {
namespace {

constexpr std::size_t kPairs = 512;
constexpr std::size_t kLimit = 32 * 1024;

class IdleCost : public TwoEngines {};

TEST_F(IdleCost, IsAtMost32KilobytesOnEachSide) {
  if (!kCounted) GTEST_SKIP() << "the sanitizer's allocator keeps no count";
  const auto sender = open(4);
  const auto receiver = open(4);
  connect(*sender, *receiver);  // what the two processes share is paid once
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  for (std::size_t i = 0; i < kPairs && !HasFailure(); ++i) connect(*sender, *receiver);
  const std::size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  const std::size_t both = (after - before) / kPairs;
  std::printf(
      "an idle pair costs %zu bytes: %zu for the sender's objects, %zu for the receiver's\n", both,
      sizeof(SendComm), sizeof(RecvComm));
  EXPECT_LE(sizeof(SendComm), kLimit);
  EXPECT_LE(sizeof(RecvComm), kLimit);
  EXPECT_LE(both, 2 * kLimit);
}

}  // namespace
}  // namespace fabrail::transport
