// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail topo`: the subcommand that shows which NICs serve which GPU.
#pragma once

namespace CLI {
class App;
}

namespace fabrail::cli {

/// Adds the subcommand to `app`; running it leaves the exit code of the process in `exit_code`.
void add_topo(CLI::App& app, int& exit_code);

}  // namespace fabrail::cli
