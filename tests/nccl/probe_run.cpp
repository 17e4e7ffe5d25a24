// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// fork and exec rather than posix_spawn: the probe runs in the scratch directory.
#include "tests/nccl/probe_run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace fabrail::nccl_test {
namespace {

namespace fs = std::filesystem;

std::string inherited(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

Environment base_environment(const Scratch& scratch) {
  const std::string own = scratch.path();
  const std::string others = inherited("LD_LIBRARY_PATH");
  return {{"PATH", inherited("PATH")},
          {"LD_LIBRARY_PATH", others.empty() ? own : own + ":" + others},
          {"HOME", own},    // no .nccl.conf there
          {"TMPDIR", own},  // the probe's log
          {"NCCL_IB_DISABLE", "1"},
          // NCCL leaks; and with or without a sanitizer the same signal tells how a run ended.
          {"ASAN_OPTIONS", "detect_leaks=0:handle_segv=0:abort_on_error=1"},
          {"TSAN_OPTIONS", "handle_segv=0:abort_on_error=1"},
          {"UBSAN_OPTIONS", "print_stacktrace=1"}};
}

std::vector<std::string> as_settings(const Environment& environment) {
  std::vector<std::string> settings;
  for (const auto& [name, value] : environment)
    settings.emplace_back(name).append("=").append(value);
  return settings;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void become_probe(const fs::path& directory, char* const* arguments,
                               char* const* environment) {
  if (chdir(directory.c_str()) != 0) _exit(126);
  const int out = open("stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(126);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

int spawn_and_wait(const Scratch& scratch, std::vector<std::string> arguments,
                   const Environment& environment) {
  std::vector<std::string> settings = as_settings(environment);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(settings);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become_probe(scratch.path(), argv.data(), envp.data());
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("waitpid failed");
  }
  return status;
}

}  // namespace

int ProbeResult::lines_with(std::string_view text) const {
  int count = 0;
  for (const auto& line : report.at("log")) {
    if (line.get_ref<const std::string&>().find(text) != std::string::npos) ++count;
  }
  return count;
}

std::string ProbeResult::story() const {
  std::ostringstream text;
  text << "exit code " << exit_code << ", signal " << signal << "\n" << errors;
  if (!report.is_null()) {
    text << report.at("cycles").dump() << "\n";
    for (const auto& line : report.at("log")) text << line.get_ref<const std::string&>() << "\n";
  }
  return text.str();
}

Scratch::Scratch() {
  std::string name = fs::temp_directory_path() / "fabrail-nccl.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Scratch::link(const std::string& name, const fs::path& target) const {
  fs::create_symlink(target, path_ / name);
}

ProbeResult run_probe(const Library& library, const Scratch& scratch,
                      const Environment& environment, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {FABRAIL_NCCL_PROBE, "--library", library.path};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Environment settings = environment;
  settings.merge(base_environment(scratch));  // keeps what the test chose
  const int status = spawn_and_wait(scratch, command, settings);

  ProbeResult result;
  result.errors = contents(scratch.path() / "stderr");
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (result.exit_code == 0) {
    result.report = nlohmann::json::parse(contents(scratch.path() / "stdout"));
  }
  return result;
}

}  // namespace fabrail::nccl_test
