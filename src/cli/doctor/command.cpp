// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The command line of `fabrail doctor`.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "src/cli/doctor/doctor.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

/// What CLI11 fills in while it parses.
struct CommandLine {
  DoctorOptions options;
  std::string root = "/";
  std::string environment_file;
  std::vector<std::string> variables;
};

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

std::vector<std::string> environment_of_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw CLI::ValidationError("--env-file", "cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return lines(text.str());
}

/// The environment of this shell says nothing about an image: --root starts with an empty one.
std::map<std::string, std::string, std::less<>> environment_for(const CommandLine& line) {
  std::vector<std::string> entries = line.variables;
  const bool own = line.root == "/" && line.environment_file.empty();
  const auto rest = own                             ? own_environment()
                    : line.environment_file.empty() ? std::vector<std::string>{}
                                                    : environment_of_file(line.environment_file);
  entries.insert(entries.end(), rest.begin(), rest.end());
  return environment_from(entries);
}

int run(CommandLine& line) {
  line.options.system = System::below(line.root, environment_for(line));
  // A library answers for the environment of this very process.
  const bool own = line.variables.empty() && line.environment_file.empty();
  if (!own) line.options.system.libfabric = {};
  line.options.colour =
      ::isatty(STDOUT_FILENO) != 0 && !line.options.system.variable("NO_COLOR").has_value();
  const int code = run_doctor(line.options, std::cout);
  std::cout.flush();
  return code;
}

void add_options(CLI::App& command, CommandLine& line) {
  DoctorOptions& options = line.options;
  command.add_option("--root", line.root, "Look at this folder as if it were /: an image")
      ->check(CLI::ExistingDirectory);
  command.add_option("--env", line.variables, "NAME=VALUE in the job's environment (repeatable)");
  command.add_option("--env-file", line.environment_file,
                     "File of NAME=VALUE lines: the job's environment");
  command.add_option("--pid", options.pid, "Look at this running process")
      ->check(CLI::PositiveNumber);
  command.add_option("--seconds", options.seconds, "How long to watch NICs with --pid")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command.add_option("--log", options.log, "Read a log of NCCL_DEBUG=INFO instead (- for stdin)");
  command.add_option("--explain", options.explain, "Explain one check");
  command.add_flag("--list", options.list, "List the checks");
  command.add_flag("--json", options.json, "Write JSON");
}

}  // namespace

void add_doctor_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("doctor", "Check this machine, an image, a job or a log");
  auto line = std::make_unique<CommandLine>();
  add_options(*command, *line);
  // CLI11 keeps callbacks as copyable functions; the command line lives as long as they do.
  command->callback([kept = std::shared_ptr<CommandLine>(std::move(line)), &exit_code] {
    exit_code = run(*kept);
  });
}

}  // namespace fabrail::doctor
