// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The `fabrail` command: one subcommand for each file beside this one.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "src/cli/doctor/doctor.h"
#include "src/cli/env.h"
#include "src/cli/pair.h"
#include "src/cli/perf.h"
#include "src/cli/stalls.h"
#include "src/cli/topo.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app{"fabrail: measures and explains NCCL network plugins"};
  app.require_subcommand(1);
  int exit_code = 0;
  fabrail::cli::add_perf(app, exit_code);
  fabrail::cli::add_topo(app, exit_code);
  fabrail::doctor::add_doctor_command(app, exit_code);
  fabrail::cli::add_pair(app, exit_code);
  fabrail::cli::add_stalls(app, exit_code);
  fabrail::cli::add_env(app, exit_code);
  CLI11_PARSE(app, argc, argv);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fabrail: %s\n", error.what());
    return 1;
  }
}
