// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Group C: connecting when the other side is gone, silent, foreign, or never was there.
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/conformance/fixtures.h"

namespace fabrail::conformance {
namespace {

using std::chrono::milliseconds;

// The first error; success when it never fails (or connects) before the deadline.
Result poll_until_refused(const Net& net, Handle handle) {
  PollResult now{NCCL_NET_SUCCESS, nullptr};
  poll_until([&] {
    now = poll_connect(net, handle);
    return now.result != NCCL_NET_SUCCESS || now.comm != nullptr;
  });
  EXPECT_EQ(now.comm, nullptr) << "connected to a peer that cannot be there";
  if (now.comm != nullptr) net.close_send(now.comm);
  return now.result;
}

void expect_still_usable(const Net& net) {
  Pair pair = connect_loopback(net);
  ASSERT_TRUE(pair);
  EXPECT_TRUE(works(net, pair));
}

void listen_and_die(Net& net, Channel& channel) {
  Listener listener = open_listener(net);
  channel.send(listener.handle);
  channel.hear();  // killed meanwhile
}
const Role kListenAndDie("listen_and_die", listen_and_die);

// Case 37, corrupted_handle: a handle whose process is dead.
TEST(BadPeer, ConnectFailsWhenTheListenersProcessIsDead) {
  RUN_IN_OWN_PROCESS(kFastTimeout);
  OpenNet open(primary_abi());
  Handle handle;
  {
    Peer peer(kListenAndDie, primary_abi());
    ASSERT_TRUE(peer.channel().receive(handle));
  }
  EXPECT_NE(poll_until_refused(open.net(), handle), NCCL_NET_SUCCESS);
  expect_still_usable(open.net());
}

// Case 35, close_listen_unaccepted: the listener goes away before, or while, somebody connects.
TEST(BadPeer, ConnectFailsWhenTheListenerIsClosed) {
  RUN_IN_OWN_PROCESS(kFastTimeout);
  OpenNet open(primary_abi());
  for (const int polls_before_close : {0, 1, 2, 5, 50}) {
    Listener listener = open_listener(open.net());
    Handle handle = listener.handle;
    PollResult now{NCCL_NET_SUCCESS, nullptr};
    for (int i = 0; i < polls_before_close && now.comm == nullptr; ++i) {
      now = poll_connect(open.net(), handle);
    }
    EXPECT_EQ(listener.comm.close(), NCCL_NET_SUCCESS);
    if (now.comm != nullptr) {  // legal: connect may complete before accept
      EXPECT_EQ(open.net().close_send(now.comm), NCCL_NET_SUCCESS);
      continue;
    }
    EXPECT_NE(poll_until_refused(open.net(), handle), NCCL_NET_SUCCESS)
        << "closed after " << polls_before_close << " calls of connect";
  }
  expect_still_usable(open.net());
}

struct HandleCase {
  const char* name;
  void (*corrupt)(Handle& good, std::mt19937& random);
  bool fabrail_layout = false;  ///< aims at fields of fabrail's handle
};

void randomise(Handle& handle, std::mt19937& random) {
  for (std::byte& b : handle.bytes) b = std::byte{static_cast<unsigned char>(random())};
}

constexpr std::array kHandles = {
    HandleCase{"Random", randomise},
    HandleCase{"Zero", [](Handle& handle, std::mt19937&) { handle.bytes.fill(std::byte{0}); }},
    HandleCase{"Ones", [](Handle& handle, std::mt19937&) { handle.bytes.fill(std::byte{0xFF}); }},
    HandleCase{"TruncatedMagic",
               [](Handle& handle, std::mt19937&) {
                 std::fill_n(handle.bytes.begin() + 2, 6, std::byte{0});
               }},
    HandleCase{"HalfThere",
               [](Handle& handle, std::mt19937&) {
                 std::fill(handle.bytes.begin() + 64, handle.bytes.end(), std::byte{0});
                 std::fill_n(handle.bytes.begin() + 4, 28, std::byte{0x3C});
               }},
    HandleCase{"WrongVersion",
               [](Handle& handle, std::mt19937&) {
                 std::fill_n(handle.bytes.begin() + 8, 8, std::byte{0x7F});
               },
               true},
};

class CorruptedHandle : public testing::TestWithParam<HandleCase> {};

// Case 37, corrupted_handle. The listener stays open beside it, so that a connect that ignores the
// damage would find a stranger.
TEST_P(CorruptedHandle, IsRefusedInBoundedTime) {
  if (GetParam().fabrail_layout && !options().own_plugin) {
    GTEST_SKIP() << "other plugins may keep nothing in these bytes";
  }
  RUN_IN_OWN_PROCESS(kFastTimeout);
  OpenNet open(primary_abi());
  std::mt19937 random(37);
  for (int round = 0; round < 4; ++round) {
    Listener listener = open_listener(open.net());
    Handle handle = listener.handle;
    GetParam().corrupt(handle, random);
    EXPECT_NE(poll_until_refused(open.net(), handle), NCCL_NET_SUCCESS) << "round " << round;
    const PollResult now = poll_accept(open.net(), listener.comm);
    EXPECT_EQ(now.result, NCCL_NET_SUCCESS);
    EXPECT_EQ(now.comm, nullptr);
  }
  expect_still_usable(open.net());
}

INSTANTIATE_TEST_SUITE_P(Bytes, CorruptedHandle, testing::ValuesIn(kHandles),
                         [](const auto& row) { return std::string(row.param.name); });

// One bit at a time: whatever connect makes of it, it must not crash, and the device must live on.
TEST(BadPeer, SurvivesHandlesWithSingleBitsFlipped) {
  RUN_IN_OWN_PROCESS(kFastTimeout);
  OpenNet open(primary_abi());
  Listener listener = open_listener(open.net());
  std::vector<Handle> handles;
  for (size_t bit = 0; bit < 8 * NCCL_NET_HANDLE_BYTES; bit += 5) {
    handles.push_back(listener.handle);
    handles.back().bytes[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
  }
  std::vector<SendComm> connected;
  std::vector<RecvComm> accepted;
  poll_for(std::chrono::seconds(3), [&] {
    for (Handle& handle : handles) {
      const PollResult now = poll_connect(open.net(), handle);
      if (now.comm != nullptr) connected.emplace_back(open.net(), now.comm);
      if (now.comm != nullptr || now.result != NCCL_NET_SUCCESS) handle = {};
    }
    std::erase_if(handles, [](const Handle& h) { return h.bytes == Handle{}.bytes; });
    const PollResult now = poll_accept(open.net(), listener.comm);
    EXPECT_EQ(now.result, NCCL_NET_SUCCESS);
    if (now.comm != nullptr) accepted.emplace_back(open.net(), now.comm);
  });
  expect_still_usable(open.net());
}

std::set<std::string> own_socket_inodes() {
  std::set<std::string> inodes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.rfind("socket:[", 0) == 0) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

// The ports on which this process listens, found as a port scanner would find them.
std::set<uint16_t> own_listening_ports() {
  constexpr const char* kListening = "0A";
  const auto inodes = own_socket_inodes();
  std::set<uint16_t> ports;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields(line);
      std::array<std::string, 10> field;
      for (std::string& f : field) fields >> f;
      if (field[3] != kListening || !inodes.contains(field[9])) continue;
      const std::string port = field[1].substr(field[1].rfind(':') + 1);
      ports.insert(static_cast<uint16_t>(std::stoul(port, nullptr, 16)));
    }
  }
  return ports;
}

/// A client that knows nothing of the plugin's protocol.
class Stranger {
 public:
  explicit Stranger(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    reached_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~Stranger() { ::close(fd_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  void say(const void* bytes, size_t size) const {
    if (reached_) (void)!::send(fd_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

 private:
  int fd_;
  bool reached_ = false;
};

void expect_nobody(const Net& net, const ListenComm& listen) {
  poll_for(milliseconds(100), [&] {
    const PollResult now = poll_accept(net, listen);
    EXPECT_EQ(now.result, NCCL_NET_SUCCESS);
    EXPECT_EQ(now.comm, nullptr) << "accepted a stranger";
  });
}

// Case 38, foreign_client: garbage, a port scan, a half-said sentence that never ends.
TEST(BadPeer, StrangersOnTheListeningPortsAreIgnored) {
  RUN_IN_OWN_PROCESS(kFastTimeout);
  OpenNet open(primary_abi());
  Listener listener = open_listener(open.net());
  expect_nobody(open.net(), listener.comm);
  const auto ports = own_listening_ports();
  if (ports.empty()) GTEST_SKIP() << "the plugin does not listen on TCP ports";
  std::vector<std::byte> garbage(4096);
  fill_pattern(garbage, 38);
  std::vector<std::unique_ptr<Stranger>> slow;
  for (const uint16_t port : ports) {
    { const Stranger scan(port); }
    const Stranger loud(port);
    loud.say(garbage.data(), garbage.size());
    const Stranger web(port);
    web.say("GET / HTTP/1.0\r\n\r\n", 18);
    slow.push_back(std::make_unique<Stranger>(port));
    slow.back()->say(garbage.data(), 3);
    expect_nobody(open.net(), listener.comm);
  }
  Pair pair = connect_to(open.net(), listener.comm, listener.handle);
  ASSERT_TRUE(pair);
  EXPECT_TRUE(works(open.net(), pair));
}

// Calls connect `n` times, then says so and waits for its end.
void connect_then_die(Net& net, Channel& channel) {
  Handle handle;
  if (!channel.receive(handle)) return;
  const int64_t polls = channel.hear();
  PollResult now{NCCL_NET_SUCCESS, nullptr};
  for (int64_t i = 0; i < polls && now.comm == nullptr; ++i) now = poll_connect(net, handle);
  channel.tell(0);
  channel.hear();
}
const Role kConnectThenDie("connect_then_die", connect_then_die);

// Case 39, handshake_peer_dies: the connector is killed after each number of steps.
TEST(BadPeer, AcceptSurvivesConnectorsThatDieHalfway) {
  RUN_IN_OWN_PROCESS(kFastTimeout);
  OpenNet open(primary_abi());
  for (const int64_t polls : {1, 2, 3, 5, 20, 2000}) {
    Listener listener = open_listener(open.net());
    Peer peer(kConnectThenDie, primary_abi());
    peer.channel().send(listener.handle);
    peer.channel().tell(polls);
    ASSERT_EQ(peer.channel().hear(), 0);
    peer.signal(SIGKILL);
    peer.wait();
    poll_for(milliseconds(200), [&] {
      const PollResult now = poll_accept(open.net(), listener.comm);
      if (now.comm != nullptr) {
        EXPECT_EQ(open.net().close_recv(now.comm), NCCL_NET_SUCCESS);
      }
    });
    EXPECT_EQ(listener.comm.close(), NCCL_NET_SUCCESS) << "after " << polls << " polls";
  }
  expect_still_usable(open.net());
}

// Accepts `n` times, then says so and waits for its end.
void accept_then_die(Net& net, Channel& channel) {
  Listener listener = open_listener(net);
  channel.send(listener.handle);
  for (int64_t polls = channel.hear(); polls > 0; --polls) {
    const PollResult now = poll_accept(net, listener.comm);
    if (now.comm != nullptr) break;
  }
  channel.tell(0);
  channel.hear();
}
const Role kAcceptThenDie("accept_then_die", accept_then_die);

// Case 39: the acceptor dies. connect ends with an error, or came through before.
TEST(BadPeer, ConnectEndsWhenTheAcceptorDiesHalfway) {
  RUN_IN_OWN_PROCESS(kFastTimeout);
  OpenNet open(primary_abi());
  for (const int64_t polls : {1, 3, 100, 2000}) {
    Peer peer(kAcceptThenDie, primary_abi());
    Handle handle;
    ASSERT_TRUE(peer.channel().receive(handle));
    PollResult now = poll_connect(open.net(), handle);
    peer.channel().tell(polls);
    ASSERT_EQ(peer.channel().hear(), 0);
    peer.signal(SIGKILL);
    peer.wait();
    EXPECT_TRUE(poll_until([&] {
      if (now.result == NCCL_NET_SUCCESS && now.comm == nullptr) {
        now = poll_connect(open.net(), handle);
      }
      return now.result != NCCL_NET_SUCCESS || now.comm != nullptr;
    })) << "connect waits for ever for a dead acceptor ("
        << polls << " polls)";
    if (now.comm != nullptr) {
      EXPECT_EQ(open.net().close_send(now.comm), NCCL_NET_SUCCESS);
    }
  }
  expect_still_usable(open.net());
}

constexpr int64_t kStop = SIGSTOP;

void listen_only(Net& net, Channel& channel) {
  Listener listener = open_listener(net);
  channel.send(listener.handle);
  RecvComm recv;
  bool ended = false;
  poll_until([&] {
    // Between two calls: in one, shm of libfabric 1.17 may hold a lock that others need.
    if (channel.pending()) {
      ended = channel.hear() != kStop;
      if (!ended) raise(SIGSTOP);
    }
    if (!recv) recv = RecvComm(net, poll_accept(net, listener.comm).comm);
    return ended;
  });
}
const Role kListenOnly("listen_only", listen_only);

// Case 30, call_latency: a listener that is stopped does not stop the service thread of others.
TEST(BadPeer, ConnectReturnsWhileTheListenerIsStopped) {
  OpenNet open(primary_abi());
  Peer peer(kListenOnly, primary_abi());
  Handle handle;
  ASSERT_TRUE(peer.channel().receive(handle));
  peer.channel().tell(kStop);
  ASSERT_TRUE(peer.wait_stopped());
  SendComm send;
  for (int call = 0; call < 1000 && !send; ++call) {  // returns at all: a block would hang here
    const PollResult now = poll_connect(open.net(), handle);
    ASSERT_EQ(now.result, NCCL_NET_SUCCESS);
    send = SendComm(open.net(), now.comm);
  }
  expect_still_usable(open.net());
  peer.signal(SIGCONT);
  EXPECT_TRUE(poll_until([&] {
    if (!send) send = SendComm(open.net(), poll_connect(open.net(), handle).comm);
    return static_cast<bool>(send);
  }));
  peer.channel().tell(0);
  peer.expect_success();
}

}  // namespace
}  // namespace fabrail::conformance
