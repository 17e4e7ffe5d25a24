// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The deadline of a step.
#include "src/cli/common/deadline.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace fabrail::cli {
namespace {

// What the handler prints. A signal handler can reach only static storage and may not format, so
// the text is made beforehand, and its length is the last thing written.
char g_text[512];
volatile sig_atomic_t g_length = 0;

void on_deadline(int) {
  const ssize_t written = write(STDERR_FILENO, g_text, static_cast<size_t>(g_length));
  static_cast<void>(written);
  _exit(Deadline::kExitCode);
}

void set_timer(int seconds) {
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

Deadline::Deadline(std::string who, std::string hint, int seconds)
    : who_(std::move(who)), hint_(std::move(hint)), seconds_(seconds) {
  struct sigaction action = {};
  action.sa_handler = on_deadline;
  sigaction(SIGALRM, &action, nullptr);
}

Deadline::~Deadline() { leave(); }

void Deadline::leave() { set_timer(0); }

void Deadline::enter(std::string_view step) {
  set_timer(0);
  std::string text =
      who_ + ": no end after " + std::to_string(seconds_) + " s of: " + std::string(step);
  text.resize(std::min(text.size(), sizeof g_text - 2 - hint_.size()));
  text += hint_ + "\n";
  g_length = 0;
  std::copy(text.begin(), text.end(), g_text);
  g_length = static_cast<sig_atomic_t>(text.size());
  set_timer(seconds_);
}

}  // namespace fabrail::cli
