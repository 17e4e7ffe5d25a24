// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Runs a command as a user would.
#include "tests/cli/command.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace fabrail::test {
namespace {

[[noreturn]] void become(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment, int out, int err) {
  setpgid(0, 0);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  _exit(127);
}

/// Memory rather than pipes: the command can print as much as it likes before we read.
int open_capture() {
  const int descriptor = memfd_create("output", MFD_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error("memfd_create failed");
  return descriptor;
}

std::string take_capture(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  lseek(descriptor, 0, SEEK_SET);
  for (ssize_t count = 0; (count = read(descriptor, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<size_t>(count));
  }
  close(descriptor);
  return text;
}

}  // namespace

Command::Command(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment)
    : pid_(-1), out_(open_capture()), err_(open_capture()) {
  pid_ = fork();
  if (pid_ == 0) become(arguments, environment, out_, err_);
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

namespace {

// Whoever was killed, a sanitizer's helper of it for one, may take a moment to go.
bool stays(pid_t group) {
  constexpr int kLooks = 500;
  constexpr useconds_t kPauseUs = 10'000;
  for (int look = 0; look < kLooks && kill(-group, 0) == 0; ++look) usleep(kPauseUs);
  return kill(-group, 0) == 0;
}

}  // namespace

Outcome Command::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.left_processes = stays(pid_);
  outcome.out = take_capture(out_);
  outcome.err = take_capture(err_);
  return outcome;
}

Outcome run(const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment) {
  return Command(arguments, environment).wait();
}

}  // namespace fabrail::test
