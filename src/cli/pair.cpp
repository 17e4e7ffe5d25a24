// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Command line of `fabrail pair`.
#include "src/cli/pair.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "src/cli/pair/run.h"

namespace fabrail::cli {

namespace {

void add_meeting_options(CLI::App& pair, pair::Options& options) {
  auto* peer = pair.add_option("peer", options.peer,
                               "HOST:PORT where the other side waits with --listen (default: one "
                               "of the two ranks that srun, mpirun or torchrun started, else two "
                               "processes here)");
  pair.add_option("--listen", options.listen, "wait for the other side on [HOST:]PORT")
      ->excludes(peer);
  pair.add_option("--rendezvous", options.rendezvous,
                  "HOST:PORT where two ranks meet (default: from the launcher)");
  pair.add_option("--wait", options.wait_s, "seconds to wait for the other side")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
}

void add_measuring_options(CLI::App& pair, pair::Options& options) {
  pair.add_option("--large", options.large_bytes, "bytes of a large message (64K, 4M)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30))
      ->default_str("4M");
  pair.add_option("--count", options.count, "large messages on each path")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  pair.add_option("--timeout", options.timeout_s, "seconds after which a message is lost")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  pair.add_option("--slow", options.slow_percent,
                  "percent of the middle rate below which a path is slow; 0: none is")
      ->check(CLI::Range(0, 99))
      ->capture_default_str();
  pair.add_flag("--json", options.json, "write JSON");
}

}  // namespace

void add_pair(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("pair", "Try every rail with every rail of another machine");
  // Scripts append to a fixed command line: the last one counts.
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  auto options = std::make_shared<pair::Options>();
  add_meeting_options(*command, *options);
  add_measuring_options(*command, *options);
  command->callback([options, &exit_code] {
    options->colour = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    const auto environment = [](const char* name) { return std::getenv(name); };
    exit_code = pair::run_pair(*options, environment, std::cout);
  });
}

}  // namespace fabrail::cli
