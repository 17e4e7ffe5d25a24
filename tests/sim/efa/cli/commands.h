// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The subcommands of fabrail-sim: their options, and what they do.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/efa/cli/changes.h"
#include "tests/sim/efa/cli/launch.h"

namespace fabrail::sim {

/// A failure that ends the command with one line on stderr.
struct CommandError {
  std::string what;
};

/// The network that `--dir` or FABRAIL_SIM_DIR names.
class NetworkOption {
 public:
  void add_to(CLI::App& app);
  std::unique_ptr<NetworkView> open() const;
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

/// `shape`, `break`, `mend`: also the lines of a script. They act on `network`.
void add_change_commands(CLI::App& app, const std::function<NetworkView&()>& network);

/// Plays a script of such lines: `[@TIME] COMMAND...`, times since the start. Stops early when
/// `done` says so.
void play_script(NetworkView& network, const std::string& path, const std::function<bool()>& done);

/// `start`, `stop`, `run`, `on`. The exit code goes to `result`.
void add_run_commands(CLI::App& app, int& result);

/// `list`, `load`, `describe`, `play`.
void add_look_commands(CLI::App& app);

}  // namespace fabrail::sim
