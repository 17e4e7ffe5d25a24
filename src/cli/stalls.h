// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail stalls PID`: what the communicators of a running process wait for.
#pragma once

namespace CLI {
class App;
}

namespace fabrail::cli {

void add_stalls(CLI::App& app, int& exit_code);

}  // namespace fabrail::cli
