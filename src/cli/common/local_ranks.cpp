// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Ranks forked on this machine, watched by their parent.
#include "src/cli/common/local_ranks.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/common/failure.h"

namespace fabrail::cli {
namespace {

constexpr pid_t kEnded = -1;

/// The children by rank; kEnded once reaped.
class Children {
 public:
  void add(pid_t child) { children_.push_back(child); }

  /// Reaps until all have ended; kills the rest when one has failed.
  int wait_for_all() {
    int exit_code = 0;
    for (size_t left = children_.size(); left > 0; --left) {
      const int failed = wait_for_one();
      if (exit_code == 0 && failed != 0) {
        exit_code = failed;
        kill_all();
      }
    }
    return exit_code;
  }

  void kill_all() {
    killed_ = true;
    for (const pid_t child : children_) {
      if (child != kEnded) kill(child, SIGKILL);
    }
  }

 private:
  /// A child that has ended. When one has failed, a killed one comes first: the others fail because
  /// they miss it. The kernel closes a dying process's sockets a little before it reports its end.
  pid_t next_ended() const {
    constexpr int kLooks = 100;
    constexpr useconds_t kPauseUs = 2000;
    siginfo_t ended{};
    while (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
    const bool failed = ended.si_code == CLD_EXITED && ended.si_status != 0 && !killed_;
    for (int look = 0; failed && look < kLooks; ++look) {
      if (const pid_t child = killed_child(); child != kEnded) return child;
      usleep(kPauseUs);
    }
    return ended.si_pid;
  }

  pid_t killed_child() const {
    for (const pid_t child : children_) {
      siginfo_t one{};
      if (child == kEnded) continue;
      waitid(P_PID, static_cast<id_t>(child), &one, WEXITED | WNOHANG | WNOWAIT);
      if (one.si_pid == child && one.si_code != CLD_EXITED) return child;
    }
    return kEnded;
  }

  /// Exit code of the next child that ends. Silent about those that we killed ourselves.
  int wait_for_one() {
    int status = 0;
    const pid_t child = next_ended();
    waitpid(child, &status, 0);
    const auto place = std::find(children_.begin(), children_.end(), child);
    if (place == children_.end()) return 0;
    *place = kEnded;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (!killed_) report_signal(place - children_.begin(), WTERMSIG(status));
    return 128 + WTERMSIG(status);
  }

  static void report_signal(std::ptrdiff_t rank, int signal) {
    std::fprintf(stderr,
                 "fabrail: rank %td was killed by signal %d (%s); the other ranks were ended\n",
                 rank, signal, strsignal(signal));
  }

  std::vector<pid_t> children_;
  bool killed_ = false;
};

/// Sees to it that a rank never outlives the command that the user started.
void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

}  // namespace

int run_local_ranks(int ranks, const RankBody& body) {
  Socket listener = Socket::listen("127.0.0.1", 0);
  Children children;
  const pid_t parent = getpid();
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      die_with(parent);
      return body(rank, std::move(listener));
    }
    if (child < 0) {
      const std::string cause = std::strerror(errno);
      children.kill_all();
      children.wait_for_all();
      throw Failure("cannot fork rank " + std::to_string(rank) + ": " + cause +
                    "; use fewer --ranks or raise the process limit (ulimit -u)");
    }
    children.add(child);
  }
  return children.wait_for_all();
}

}  // namespace fabrail::cli
