// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Environment and children of `fabrail-sim run` and `fabrail-sim on`.
#include "tests/sim/efa/cli/launch.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/sim/efa/cli/sysfs_mount.h"

namespace fabrail::sim {
namespace {

void prepend_path(const char* variable, const std::string& directory) {
  const char* old = std::getenv(variable);
  const std::string value = old == nullptr || *old == '\0' ? directory : directory + ":" + old;
  setenv(variable, value.c_str(), 1);
}

void set_environment(const NetworkView& network, const Place& place, const LaunchOptions& options) {
  prepend_path("LD_LIBRARY_PATH", options.library_directory);
  setenv("FABRAIL_SIM_DIR", network.directory().c_str(), 1);
  setenv("FABRAIL_SIM_NODE", std::to_string(place.node).c_str(), 1);
  setenv("FABRAIL_SIM_LOCAL_RANK", std::to_string(place.local_rank).c_str(), 1);
  setenv("FABRAIL_SIM_RANK", std::to_string(place.rank).c_str(), 1);
  setenv("FABRAIL_SIM_SIZE", std::to_string(place.size).c_str(), 1);
  unsetenv("FABRAIL_SIM_INSTANCE");  // the directory says what the nodes look like
  unsetenv("FABRAIL_SIM_NICS");
  unsetenv("FABRAIL_SIM_SET");
  setenv("SYSFS_PATH", (network.node_path(place.node) + "/sys").c_str(), 1);
  if (options.mount_sysfs) setenv("FABRAIL_SIM_MOUNT", "1", 1);
}

[[noreturn]] void child(const NetworkView& network, const Place& place,
                        const LaunchOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  run_on_node(network, place, options);
  fmt::print(stderr, "fabrail-sim: {}: {}\n", options.command[0], std::strerror(errno));
  _exit(127);
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<pid_t>& children() {
  static std::vector<pid_t> pids;
  return pids;
}

void pass_on(int signal_number) {
  for (const pid_t pid : children()) kill(pid, signal_number);
}

}  // namespace

std::string find_library_directory() {
  std::error_code ignored;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& candidate : {here / "sim/efa", here / "../lib/fabrail-sim"})
    if (std::filesystem::exists(candidate / "libibverbs.so.1", ignored))
      return std::filesystem::canonical(candidate, ignored);
  return {};
}

bool enter_user_namespace_if_needed() {
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  if (uid == 0) return true;
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
  return getuid() == 0;
}

void run_on_node(const NetworkView& network, const Place& place, const LaunchOptions& options) {
  if (options.mount_sysfs && !mount_sysfs(network.node_path(place.node))) return;
  set_environment(network, place, options);
  std::vector<char*> arguments;
  for (const std::string& word : options.command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
}

int run_everywhere(const NetworkView& network, const std::vector<Place>& places,
                   const LaunchOptions& options) {
  for (const Place& place : places) {
    const pid_t pid = fork();
    if (pid == 0) child(network, place, options);
    if (pid > 0) children().push_back(pid);
  }
  struct sigaction action {};
  action.sa_handler = pass_on;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  int result = places.size() == children().size() ? 0 : 1;
  for (const pid_t pid : children()) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (result == 0) result = exit_code(status);
  }
  return result;
}

}  // namespace fabrail::sim
