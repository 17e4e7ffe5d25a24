// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail pair`: tries every rail of one machine with every rail of another.
#pragma once

namespace CLI {
class App;
}

namespace fabrail::cli {

/// Adds the subcommand to `app`; when it runs it stores its exit code in `exit_code`, which must
/// outlive the parsing.
void add_pair(CLI::App& app, int& exit_code);

}  // namespace fabrail::cli
