// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Starts this program again and watches over it.
#include "tests/conformance/peer.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "tests/conformance/deadline.h"
#include "tests/conformance/options.h"

namespace fabrail::conformance {
namespace {

constexpr int kChildChannel = 3;
constexpr int kPeerPatience = 180;

std::map<std::string, RoleFunction>& roles() {
  static std::map<std::string, RoleFunction> all;
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& s : strings) list.push_back(s.data());
  list.push_back(nullptr);
  return list;
}

// The new entries first: getenv and the loader take the first of equals.
std::vector<std::string> merged(const Environment& added) {
  std::vector<std::string> all = added;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

// libfabric's shm provider names its files PID:..., and a killed process cannot remove them.
void remove_shared_memory_of(pid_t pid) {
  const std::string prefix = std::to_string(pid) + ":";
  std::error_code gone;
  for (const auto& file : std::filesystem::directory_iterator("/dev/shm", gone)) {
    if (file.path().filename().string().rfind(prefix, 0) == 0) {
      std::filesystem::remove(file.path(), gone);
    }
  }
}

std::array<int, 2> socket_pair() {
  std::array<int, 2> fds{-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()), 0);
  return fds;
}

}  // namespace

pid_t start_self(std::vector<std::string> arguments, const Environment& environment,
                 int inherited_fd) {
  arguments.insert(arguments.begin(), {"fabrail_conformance", "--plugin", options().plugin});
  arguments.insert(arguments.end(), {"--memory", options().memory, "--memory-known"});
  if (options().long_run) arguments.emplace_back("--long");
  std::vector<std::string> variables = merged(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (inherited_fd >= 0) {
    posix_spawn_file_actions_adddup2(&actions, inherited_fd, kChildChannel);
  }
  pid_t pid = -1;
  const int rc = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, pointers(arguments).data(),
                             pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(rc, 0) << "cannot start " << arguments[0];
  return rc == 0 ? pid : -1;
}

int wait_for_exit(pid_t pid, int seconds) {
  int status = -1;
  const Deadline deadline{std::chrono::seconds(seconds)};
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (deadline.passed()) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return -1;
    }
    poll(nullptr, 0, 1);
  }
  return status;
}

Role::Role(const char* name, RoleFunction run) : name_(name) { roles()[name] = run; }

int play_role() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto role = roles().find(options().peer_role);
  if (role == roles().end()) return 2;
  Channel channel(options().peer_channel);
  Net net(library(), options().peer_abi);
  EXPECT_EQ(net.init(), NCCL_NET_SUCCESS);
  role->second(net, channel);
  if (net.has_context()) {
    EXPECT_EQ(net.finalize(), NCCL_NET_SUCCESS);
  }
  return testing::UnitTest::GetInstance()->Failed() ? 1 : 0;
}

Peer::Peer(const Role& role, int abi, const Environment& environment)
    : Peer(role, abi, environment, socket_pair()) {}

Peer::Peer(const Role& role, int abi, const Environment& environment, std::array<int, 2> fds)
    : channel_(fds[0]),
      pid_(start_self({"--peer", role.name(), "--peer-abi", std::to_string(abi), "--peer-channel",
                       std::to_string(kChildChannel)},
                      environment, fds[1])) {
  close(fds[1]);
}

Peer::~Peer() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  remove_shared_memory_of(pid_);
}

void Peer::signal(int number) const { EXPECT_EQ(kill(pid_, number), 0); }

bool Peer::wait_stopped() const {
  int status = 0;
  return waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status);
}

int Peer::wait() {
  const int status = wait_for_exit(pid_, kPeerPatience);
  if (!WIFEXITED(status)) remove_shared_memory_of(pid_);
  pid_ = -1;
  EXPECT_NE(status, -1) << "the other process did not end";
  return status;
}

void Peer::expect_success() {
  const int status = wait();
  EXPECT_TRUE(WIFEXITED(status)) << "the other process died of signal " << WTERMSIG(status);
  if (WIFEXITED(status)) {
    EXPECT_EQ(WEXITSTATUS(status), 0) << "see its failures above";
  }
}

}  // namespace fabrail::conformance
