// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#pragma once

namespace CLI {
class App;
}

namespace fabrail::cli {

/// Adds the subcommand `env`: the plugin's settings as this environment gives them. `exit_code`
/// becomes 1 if a variable cannot be used.
void add_env(CLI::App& app, int& exit_code);

}  // namespace fabrail::cli
