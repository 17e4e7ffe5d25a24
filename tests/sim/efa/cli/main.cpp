// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// fabrail-sim: starts, shows, shapes and breaks emulated EFA networks, and runs commands on them.
#include <fmt/format.h>

#include "tests/sim/efa/cli/commands.h"

int main(int argc, char** argv) {
  using namespace fabrail::sim;
  int result = 0;
  CLI::App app("Emulated EFA networks on one machine");
  app.require_subcommand(1);
  // For shape, break and mend outside a script: opened when the command runs.
  NetworkOption option;
  option.add_to(app);
  std::unique_ptr<NetworkView> opened;
  add_change_commands(app, [&]() -> NetworkView& {
    if (!opened) opened = option.open();
    return *opened;
  });
  add_look_commands(app);
  add_run_commands(app, result);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const CommandError& error) {
    fmt::print(stderr, "fabrail-sim: {}\n", error.what);
    return 2;
  }
  return result;
}
