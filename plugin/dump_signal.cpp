// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/dump_signal.h"

#include <signal.h>

#include <cerrno>
#include <cstring>

namespace fabrail::plugin {

namespace {

// A handler reaches only what is global. It may run in any thread, in the middle of anything: a
// lock-free atomic is all that it touches, and NCCL's next call does the work.
constinit std::atomic<std::uint32_t> signals{0};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

extern "C" void count_signal(int) { signals.fetch_add(1, std::memory_order_relaxed); }

bool is_free_for_use(int number) {
  return number == SIGUSR1 || number == SIGUSR2 || (number >= SIGRTMIN && number <= SIGRTMAX);
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == count_signal;
}

}  // namespace

const std::atomic<std::uint32_t>& dump_signals() { return signals; }

Status catch_dump_signal(int number) {
  if (!is_free_for_use(number)) {
    return make_error(Code::kInvalidArgument, 0,
                      "FABRAIL_DUMP_SIGNAL=%d: only SIGUSR1 (%d), SIGUSR2 (%d) and real-time "
                      "signals (%d to %d) are free for use",
                      number, SIGUSR1, SIGUSR2, SIGRTMIN, SIGRTMAX);
  }
  struct sigaction present {};
  if (sigaction(number, nullptr, &present) == 0 && is_ours(present)) return {};
  if ((present.sa_flags & SA_SIGINFO) != 0 || present.sa_handler != SIG_DFL) {
    return make_error(Code::kUnsupported, 0,
                      "FABRAIL_DUMP_SIGNAL=%d: this process handles that signal already, which "
                      "stays so; fabrail stalls PID shows the same",
                      number);
  }
  struct sigaction wanted {};
  wanted.sa_handler = count_signal;
  wanted.sa_flags = SA_RESTART;
  sigemptyset(&wanted.sa_mask);
  if (sigaction(number, &wanted, nullptr) != 0) {
    return make_error(Code::kSystem, errno, "FABRAIL_DUMP_SIGNAL=%d: %s", number,
                      std::strerror(errno));
  }
  return {};
}

}  // namespace fabrail::plugin
