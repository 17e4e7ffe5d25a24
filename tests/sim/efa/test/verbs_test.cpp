// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Two processes on two nodes, through the verbs that libfabric calls: messages, RDMA, death of a
// peer.
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "tests/sim/efa/core/device_memory.h"
#include "tests/sim/efa/test/network.h"
#include "tests/sim/efa/test/verbs_endpoint.h"

extern char** environ;

namespace fabrail::sim {
namespace {

/// The other process: this program again, on node 1, with the test's part for it.
class PeerProcess {
 public:
  explicit PeerProcess(const char* role) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
    setenv("FABRAIL_SIM_NODE", "1", 1);
    const char* arguments[] = {"efa_sim_verbs_test", "--peer", role, nullptr};
    posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, const_cast<char**>(arguments), environ);
    setenv("FABRAIL_SIM_NODE", "0", 1);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    socket_ = ends[0];
  }
  ~PeerProcess() {
    close(socket_);
    end();
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  int socket() const { return socket_; }
  void kill_now() { kill(pid_, SIGKILL); }
  int end() {
    if (pid_ <= 0) return status_;
    waitpid(pid_, &status_, 0);
    pid_ = 0;
    return status_;
  }

 private:
  pid_t pid_ = 0;
  int status_ = -1;
  int socket_ = -1;
};

template <typename T>
T exchange(int socket, const T& mine) {
  T theirs{};
  EXPECT_EQ(::send(socket, &mine, sizeof mine, MSG_NOSIGNAL), ssize_t{sizeof mine});
  EXPECT_EQ(recv(socket, &theirs, sizeof theirs, MSG_WAITALL), ssize_t{sizeof theirs});
  return theirs;
}

void wait_for_peer(int socket) { exchange(socket, char{1}); }

void fill(uint8_t* memory, uint8_t seed) {
  for (size_t i = 0; i < kBytes; ++i) memory[i] = pattern(i, seed);
}

size_t wrong_bytes(const uint8_t* memory, size_t bytes, uint8_t seed) {
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; ++i) wrong += memory[i] != pattern(i, seed) ? 1 : 0;
  return wrong;
}

/// What the GPU of this process, if it had one, has been told of last.
std::atomic<const void*> g_written{nullptr};
std::atomic<size_t> g_written_bytes{0};

void watch_writes() {
  connect_device_memory(
      [](uint64_t, const void* address, size_t bytes) {
        g_written = address;
        g_written_bytes = bytes;
      },
      [](uint64_t, const void*, size_t) {});
}

/// Waits until the tester says what to look for, looks, and says how many bytes are wrong.
int serve_checks() {
  VerbsEndpoint endpoint;
  endpoint.connect(exchange(3, endpoint.contact()));
  endpoint.receive(1, 8000);
  wait_for_peer(3);
  size_t wrong = endpoint.wait().bytes == 8000 ? wrong_bytes(endpoint.memory(), 8000, 1) : 1;
  fill(endpoint.memory(), 2);  // to be read
  exchange(3, wrong);
  wait_for_peer(3);  // a write of everything is done
  exchange(3, wrong_bytes(endpoint.memory(), kBytes, 3));
  watch_writes();
  endpoint.receive(2, 0);
  wait_for_peer(3);
  const auto notice = endpoint.wait();
  const bool told = g_written == endpoint.memory() && g_written_bytes == 1000;
  const bool good = notice.opcode == IBV_WC_RECV_RDMA_WITH_IMM && notice.immediate == 99 && told;
  wrong = wrong_bytes(endpoint.memory(), 1000, 4) + (good ? 0 : 1);
  exchange(3, wrong);
  return 0;
}

int stay_until_killed() {
  VerbsEndpoint endpoint;
  endpoint.connect(exchange(3, endpoint.contact()));
  wait_for_peer(3);
  for (;;) pause();
}

TEST(Verbs, MovesDataBetweenTwoProcesses) {
  PeerProcess peer("checks");
  VerbsEndpoint endpoint;
  endpoint.connect(exchange(peer.socket(), endpoint.contact()));
  wait_for_peer(peer.socket());
  fill(endpoint.memory(), 1);
  endpoint.send(1, 8000);
  EXPECT_EQ(endpoint.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(exchange(peer.socket(), size_t{0}), 0u);

  endpoint.read(2, kBytes);
  const auto read = endpoint.wait();
  EXPECT_EQ(read.status, IBV_WC_SUCCESS);
  EXPECT_EQ(read.opcode, IBV_WC_SEND);  // as the real devices report reads
  EXPECT_EQ(wrong_bytes(endpoint.memory(), kBytes, 2), 0u);

  fill(endpoint.memory(), 3);
  endpoint.write(3, kBytes, nullptr);
  EXPECT_EQ(endpoint.wait().opcode, IBV_WC_RDMA_WRITE);
  wait_for_peer(peer.socket());
  EXPECT_EQ(exchange(peer.socket(), size_t{0}), 0u);

  wait_for_peer(peer.socket());
  fill(endpoint.memory(), 4);
  const uint32_t immediate = 99;
  endpoint.write(4, 1000, &immediate);
  EXPECT_EQ(endpoint.wait().status, IBV_WC_SUCCESS);
  EXPECT_EQ(exchange(peer.socket(), size_t{0}), 0u);
  EXPECT_EQ(peer.end(), 0);
}

TEST(Verbs, KilledPeerIsAMissingQueuePair) {
  PeerProcess peer("pause");
  VerbsEndpoint endpoint;
  endpoint.connect(exchange(peer.socket(), endpoint.contact()));
  wait_for_peer(peer.socket());
  endpoint.send(1, 100);  // waits for a receive
  peer.kill_now();
  const auto event = endpoint.wait();
  EXPECT_EQ(event.vendor, static_cast<uint32_t>(Status::kBadDestinationQpn));
  endpoint.write(2, 100, nullptr);
  EXPECT_EQ(endpoint.wait().vendor, static_cast<uint32_t>(Status::kBadDestinationQpn));
}

TEST(Verbs, KilledSendersNeverBlockAReceiver) {
  VerbsEndpoint endpoint;
  for (int round = 0; round < 3; ++round) {
    PeerProcess peer("flood");
    const Contact theirs = exchange(peer.socket(), endpoint.contact());
    if (round == 0) endpoint.connect(theirs);
    endpoint.receive(1, 4000);
    wait_for_peer(peer.socket());
    EXPECT_EQ(endpoint.wait().opcode, IBV_WC_RECV);
    peer.kill_now();  // in the middle of posting
  }
}

int flood() {
  VerbsEndpoint endpoint;
  endpoint.connect(exchange(3, endpoint.contact()));
  wait_for_peer(3);
  for (uint64_t i = 0;; ++i) {
    if (i < 16)
      endpoint.send(i, 4000);
    else
      pause();
  }
}

TEST(Verbs, RegistersADmabufAtItsFilePosition) {
  VerbsEndpoint endpoint;
  const int fd = memfd_create("dmabuf", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 64 << 10), 0);
  ASSERT_EQ(lseek(fd, 8192, SEEK_SET), 8192);
  EXPECT_EQ(ibv_reg_dmabuf_mr(endpoint.pd(), 0, 64 << 10, 0, fd, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);  // longer than what follows the position
  ibv_mr* mr = ibv_reg_dmabuf_mr(endpoint.pd(), 100, 4096, 0x7000, fd, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, reinterpret_cast<void*>(0x7000));
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  close(fd);
}

TEST(Verbs, RefusesMemoryThatCannotBePinned) {
  VerbsEndpoint endpoint;
  void* memory =
      mmap(nullptr, 16 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(mprotect(static_cast<char*>(memory) + 4096, 4096, PROT_NONE), 0);
  EXPECT_EQ(ibv_reg_mr(endpoint.pd(), memory, 16 << 10, 0), nullptr);
  EXPECT_EQ(errno, EFAULT);
  munmap(memory, 16 << 10);
}

TEST(Verbs, ReportsPortChangesAsEvents) {
  VerbsEndpoint endpoint;
  std::string error;
  const auto fabric = Fabric::open(getenv("FABRAIL_SIM_DIR"), {}, error);
  ASSERT_TRUE(fabric) << error;
  Shape& shape = fabric->device({0, 0})->shape;
  ibv_async_event event{};
  const auto changed_to = [&](bool down) {
    shape.link_down = down ? 1 : 0;
    endpoint.receive(1, 10);  // wakes nothing: the engine looks now and then while it is awake
    return ibv_get_async_event(endpoint.context(), &event) == 0 ? event.event_type
                                                                : IBV_EVENT_QP_FATAL;
  };
  // Pending work keeps the engine awake.
  endpoint.connect(endpoint.contact());
  endpoint.send(1, 10);
  EXPECT_EQ(changed_to(true), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(changed_to(false), IBV_EVENT_PORT_ACTIVE);
}

int play(const std::string& role) {
  if (role == "checks") return serve_checks();
  if (role == "pause") return stay_until_killed();
  return flood();
}

}  // namespace
}  // namespace fabrail::sim

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--peer") return fabrail::sim::play(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  const fabrail::sim::ScratchDirectory scratch;
  setenv("FABRAIL_SIM_DIR", scratch.path().c_str(), 1);
  setenv("FABRAIL_SIM_INSTANCE", "p5en", 1);
  setenv("FABRAIL_SIM_NICS", "1", 1);
  setenv("FABRAIL_SIM_NODE", "0", 1);
  return RUN_ALL_TESTS();
}
