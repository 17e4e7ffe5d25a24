// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group C: listen, connect and accept when both sides behave.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

using std::chrono::milliseconds;

class ConnectEveryAbi : public EveryAbiTest {};
class Connect : public PrimaryTest {};

// Case 25, listen_handle_bounds: 128 bytes that touch forbidden pages on one side, then the other.
TEST_F(Connect, ListenStaysInsideTheHandle) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const Pages before(page);
  const Pages pages(3 * page);
  ASSERT_EQ(mprotect(pages.data(), page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(pages.data() + 2 * page, page, PROT_NONE), 0);
  for (std::byte* const handle :
       {pages.data() + page, pages.data() + 2 * page - NCCL_NET_HANDLE_BYTES}) {
    void* comm = nullptr;
    ASSERT_EQ(net().listen(0, handle, &comm), NCCL_NET_SUCCESS);
    EXPECT_EQ(net().close_listen(comm), NCCL_NET_SUCCESS);
  }
}

// Case 25 too: NCCL copies all 128 bytes, from stack memory. A byte that equals what was there
// before in every one of eight calls was not written.
TEST_F(Connect, ListenWritesTheWholeHandle) {
  std::array<bool, NCCL_NET_HANDLE_BYTES> written{};
  for (int round = 0; round < 8; ++round) {
    std::array<std::byte, NCCL_NET_HANDLE_BYTES> handle;
    const std::byte fill{static_cast<unsigned char>(0x11 + 0x1d * round)};
    handle.fill(fill);
    void* comm = nullptr;
    ASSERT_EQ(net().listen(0, handle.data(), &comm), NCCL_NET_SUCCESS);
    for (size_t i = 0; i < handle.size(); ++i) written[i] = written[i] || handle[i] != fill;
    EXPECT_EQ(net().close_listen(comm), NCCL_NET_SUCCESS);
  }
  EXPECT_EQ(std::count(written.begin(), written.end(), false), 0);
}

// Case 26, listen_bad_dev.
TEST_P(ConnectEveryAbi, ListenRefusesDevicesThatAreNotThere) {
  int count = 0;
  ASSERT_EQ(net().devices(&count), NCCL_NET_SUCCESS);
  for (const int dev : {-1, count, 9999}) {
    Handle handle;
    void* comm = nullptr;
    EXPECT_NE(net().listen(dev, handle.bytes.data(), &comm), NCCL_NET_SUCCESS) << dev;
    EXPECT_EQ(comm, nullptr) << dev;
  }
}

// Case 28, connect_before_accept.
TEST_P(ConnectEveryAbi, ConnectWaitsForAccept) {
  Listener listener = open_listener(net());
  Pair pair;
  poll_for(milliseconds(100), [&] {
    if (pair.send) return;
    const PollResult now = poll_connect(net(), listener.handle);
    ASSERT_EQ(now.result, NCCL_NET_SUCCESS);
    if (now.comm != nullptr) pair.send = SendComm(net(), now.comm);
  });
  ASSERT_TRUE(poll_until([&] {
    if (!pair.send) pair.send = SendComm(net(), poll_connect(net(), listener.handle).comm);
    if (!pair.recv) pair.recv = RecvComm(net(), poll_accept(net(), listener.comm).comm);
    return static_cast<bool>(pair);
  }));
  EXPECT_TRUE(works(net(), pair));
}

// Case 29, accept_before_connect.
TEST_P(ConnectEveryAbi, AcceptWaitsForConnect) {
  Listener listener = open_listener(net());
  poll_for(milliseconds(100), [&] {
    const PollResult now = poll_accept(net(), listener.comm);
    EXPECT_EQ(now.result, NCCL_NET_SUCCESS);
    EXPECT_EQ(now.comm, nullptr) << "accepted although nobody connects";
  });
  Pair pair = connect_to(net(), listener.comm, listener.handle);
  ASSERT_TRUE(pair);
  EXPECT_TRUE(works(net(), pair));
}

// Case 31, alternate_loopback, on every device and in both orders.
TEST_P(ConnectEveryAbi, OneThreadAlternatesOnEveryDevice) {
  int count = 0;
  ASSERT_EQ(net().devices(&count), NCCL_NET_SUCCESS);
  for (int dev = 0; dev < count; ++dev) {
    for (const Order order : {Order::kConnectFirst, Order::kAcceptFirst}) {
      Pair pair = connect_loopback(net(), dev, order);
      ASSERT_TRUE(pair) << "device " << dev;
      EXPECT_TRUE(works(net(), pair)) << "device " << dev;
    }
  }
}

// Case 41, devcomm_args: NULL, and a pointer to NULL that a host network leaves alone.
TEST_P(ConnectEveryAbi, TakesAnyDeviceCommArgument) {
  if (GetParam() < 7) GTEST_SKIP() << "device comms came with v7";
  nccl_net_device_handle_t* device_comm = nullptr;
  for (nccl_net_device_handle_t** const argument : {&device_comm, decltype(&device_comm){}}) {
    net().session().device_comm_argument = argument;
    Pair pair = connect_loopback(net());
    ASSERT_TRUE(pair);
    EXPECT_EQ(device_comm, nullptr);
    EXPECT_TRUE(works(net(), pair));
  }
}

// Case 45, close_null: what NCCL calls for connections that never came up.
TEST_P(ConnectEveryAbi, ClosesNull) {
  EXPECT_EQ(net().close_send(nullptr), NCCL_NET_SUCCESS);
  EXPECT_EQ(net().close_recv(nullptr), NCCL_NET_SUCCESS);
  EXPECT_EQ(net().close_listen(nullptr), NCCL_NET_SUCCESS);
  Pair pair = connect_loopback(net());
  ASSERT_TRUE(pair);
  EXPECT_EQ(net().dereg_mr(pair.send.get(), nullptr), NCCL_NET_SUCCESS);
  EXPECT_EQ(net().dereg_mr(pair.recv.get(), nullptr), NCCL_NET_SUCCESS);
  EXPECT_TRUE(works(net(), pair));
}

INSTANTIATE_FOR_EVERY_ABI(ConnectEveryAbi);

// Each connect in its own copy of the handle, as the contract wants; all are under way at once.
std::vector<SendComm> connect_all(const Net& net, const Listener& listener, size_t count,
                                  std::vector<RecvComm>& accepted) {
  std::vector<Handle> copies(count, listener.handle);
  std::vector<SendComm> sends(count);
  accepted.clear();
  EXPECT_TRUE(poll_until([&] {
    for (size_t i = 0; i < count; ++i) {
      if (!sends[i]) sends[i] = SendComm(net, poll_connect(net, copies[i]).comm);
    }
    const PollResult now = poll_accept(net, listener.comm);
    if (now.comm != nullptr) accepted.emplace_back(net, now.comm);
    return accepted.size() == count &&
           std::all_of(sends.begin(), sends.end(), [](const auto& s) { return bool(s); });
  }));
  return sends;
}

// Which accepted comm belongs to which connect: each sender says its number.
void expect_one_to_one(const Net& net, std::vector<SendComm>& sends, std::vector<RecvComm>& recvs) {
  Buffer from(sends.size() * sizeof(uint64_t));
  Buffer to(recvs.size() * sizeof(uint64_t));
  std::vector<Pending> pending;
  std::vector<Mr> mrs;
  for (size_t i = 0; i < recvs.size(); ++i) {
    mrs.emplace_back(net, recvs[i].get(), to.bytes());
    pending.push_back(post_recv(net, recvs[i], {slice(to.part(8 * i, 8), mrs.back())}));
  }
  for (size_t i = 0; i < sends.size(); ++i) {
    mrs.emplace_back(net, sends[i].get(), from.bytes());
    write_bytes(from.part(8 * i, 8), &i);
    pending.push_back(post_send(net, sends[i], slice(from.part(8 * i, 8), mrs.back())));
  }
  ASSERT_TRUE(finish(net, pending));
  std::vector<size_t> heard(recvs.size());
  read_bytes(heard.data(), to.bytes());
  std::sort(heard.begin(), heard.end());
  std::vector<size_t> all(recvs.size());
  std::iota(all.begin(), all.end(), size_t{0});
  EXPECT_EQ(heard, all);
}

// Case 34, many_accepts_one_listen.
TEST_F(Connect, ManyAcceptsOnOneListen) {
  Listener listener = open_listener(net());
  std::vector<RecvComm> recvs;
  std::vector<SendComm> sends = connect_all(net(), listener, 64, recvs);
  ASSERT_EQ(recvs.size(), sends.size());
  expect_one_to_one(net(), sends, recvs);
}

// Case 36, close_listen_after_accept.
TEST_F(Connect, OutlivesItsListener) {
  Pair pair = connect_loopback(net());  // closes the listener at once
  ASSERT_TRUE(pair);
  EXPECT_TRUE(works(net(), pair, 512, 1000));
}

// Case 35: with shared comms NCCL listens several times and closes the rest without an accept.
TEST_F(Connect, ClosesListenersThatNobodyUsed) {
  std::vector<Listener> unused;
  for (int i = 0; i < 32; ++i) unused.push_back(open_listener(net()));
  Pair pair = connect_loopback(net());
  for (Listener& listener : unused) EXPECT_EQ(listener.comm.close(), NCCL_NET_SUCCESS);
  ASSERT_TRUE(pair);
  EXPECT_TRUE(works(net(), pair));
}

// Case 99: a second connection after the first one closed, many times.
TEST_F(Connect, ConnectsAgainAfterClose) {
  for (int round = 0; round < sized(50, 1000); ++round) {
    Pair pair = connect_loopback(net());
    ASSERT_TRUE(pair) << "round " << round;
    ASSERT_TRUE(works(net(), pair, 64, 1)) << "round " << round;
    ASSERT_EQ(pair.send.close(), NCCL_NET_SUCCESS);
    ASSERT_EQ(pair.recv.close(), NCCL_NET_SUCCESS);
  }
}

void close_in_random_order(std::vector<Pair>& pairs, std::mt19937& random) {
  std::vector<size_t> ends(2 * pairs.size());
  std::iota(ends.begin(), ends.end(), size_t{0});
  std::shuffle(ends.begin(), ends.end(), random);
  for (const size_t end : ends) {
    Pair& pair = pairs[end / 2];
    ASSERT_EQ(end % 2 == 0 ? pair.send.close() : pair.recv.close(), NCCL_NET_SUCCESS);
  }
}

// Case 43, many_comms: they share the device, carry data, and close in any order.
TEST_F(Connect, ManyCommsOnOneDevice) {
  std::mt19937 random(43);
  std::vector<Pair> pairs = connect_many(net(), sized<size_t>(96, 4096));
  ASSERT_EQ(pairs.size(), sized<size_t>(96, 4096));
  for (const Pair& pair : pairs) ASSERT_TRUE(works(net(), pair, 256, 1));
  close_in_random_order(pairs, random);
  Pair again = connect_loopback(net());
  ASSERT_TRUE(again);
  EXPECT_TRUE(works(net(), again));
}

void live_on_own_thread(Net& net, int rounds, int messages) {
  for (int round = 0; round < rounds; ++round) {
    Pair pair = connect_loopback(net);
    ASSERT_TRUE(pair);
    ASSERT_TRUE(works(net, pair, 1024, messages));
  }
}

void serve_others(Net& net, const std::atomic<bool>& stop) {
  Buffer memory(1 << 16);
  do {
    Pair pair = connect_loopback(net);
    ASSERT_TRUE(pair);
    Mr mr(net, pair.send.get(), memory.bytes());
  } while (!stop);
}

// Case 44, thread_per_comm: progress threads with a comm each, and a service thread beside them.
TEST_F(Connect, ThreadsWithACommEach) {
  std::atomic<bool> stop{false};
  std::thread service([&] { serve_others(net(), stop); });
  std::vector<std::thread> progress;
  for (int i = 0; i < sized(4, 32); ++i) {
    progress.emplace_back([&] { live_on_own_thread(net(), 3, sized(100, 10'000)); });
  }
  for (std::thread& thread : progress) thread.join();
  stop = true;
  service.join();
}

}  // namespace
}  // namespace fabrail::conformance
