// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The meeting point of the ranks, with each rank on a thread.
#include "src/cli/common/rendezvous.h"

#include <gtest/gtest.h>

#include <array>
#include <future>

#include "src/cli/common/failure.h"

namespace fabrail::cli::perf {
namespace {

std::future<Rendezvous> join_later(uint16_t port, int rank, int ranks) {
  return std::async(std::launch::async,
                    [=] { return Rendezvous::join("127.0.0.1", port, rank, ranks); });
}

TEST(Rendezvous, GathersInRankOrder) {
  Socket listener = Socket::listen("127.0.0.1", 0);
  const uint16_t port = listener.local_port();
  const auto rank = [port](int mine) {
    Rendezvous rendezvous = Rendezvous::join("127.0.0.1", port, mine, 3);
    return rendezvous.all_gather_of(mine * 10);
  };
  auto two = std::async(std::launch::async, rank, 2);
  auto one = std::async(std::launch::async, rank, 1);
  Rendezvous root = Rendezvous::host(std::move(listener), 3);
  const std::vector<int> expected{0, 10, 20};
  EXPECT_EQ(root.all_gather_of(0), expected);
  EXPECT_EQ(one.get(), expected);
  EXPECT_EQ(two.get(), expected);
}

TEST(Rendezvous, DropsStrangers) {
  Socket listener = Socket::listen("127.0.0.1", 0);
  const uint16_t port = listener.local_port();
  const std::optional<Socket> stranger = Socket::connect("127.0.0.1", port);
  ASSERT_TRUE(stranger);
  const std::array<std::byte, 64> garbage{};
  ASSERT_TRUE(stranger->send(garbage));
  auto one = join_later(port, 1, 2);
  const Rendezvous root = Rendezvous::host(std::move(listener), 2);
  const Rendezvous rank = one.get();
  EXPECT_EQ(rank.rank(), 1);
  EXPECT_NO_THROW(root.check_alive());
}

TEST(Rendezvous, RefusesARankOfAnotherJob) {
  Socket listener = Socket::listen("127.0.0.1", 0);
  auto one = join_later(listener.local_port(), 1, 3);
  EXPECT_THROW(Rendezvous::host(std::move(listener), 2), Failure);
  one.wait();
}

TEST(Rendezvous, ReportsARankThatHasGone) {
  Socket listener = Socket::listen("127.0.0.1", 0);
  auto one = join_later(listener.local_port(), 1, 2);
  Rendezvous root = Rendezvous::host(std::move(listener), 2);
  { const Rendezvous gone = one.get(); }
  EXPECT_THROW(root.barrier(), Failure);
  EXPECT_THROW(root.check_alive(), Failure);
}

TEST(Rendezvous, ReportsTheRootThatHasGone) {
  Socket listener = Socket::listen("127.0.0.1", 0);
  auto one = join_later(listener.local_port(), 1, 2);
  { const Rendezvous root = Rendezvous::host(std::move(listener), 2); }
  Rendezvous rank = one.get();
  EXPECT_THROW(rank.barrier(), Failure);
}

}  // namespace
}  // namespace fabrail::cli::perf
