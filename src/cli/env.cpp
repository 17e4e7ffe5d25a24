// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail env`: prints the plugin's settings, or the page of the documentation about them.
#include "src/cli/env.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "src/base/config.h"

namespace fabrail::cli {
namespace {

int print_settings() {
  std::vector<std::string> complaints;
  const Config config =
      parse_config([](const char* name) { return std::getenv(name); }, complaints);
  for (const Param& param : params()) {
    const std::string value = to_text(param, config);
    fmt::print("{:<26} {:<12} {}\n", param.name, value.empty() ? "-" : value,
               std::getenv(param.name) != nullptr ? "environment" : "default");
  }
  for (const std::string& complaint : complaints) fmt::print(stderr, "{}\n", complaint);
  return complaints.empty() ? 0 : 1;
}

}  // namespace

void add_env(CLI::App& app, int& exit_code) {
  CLI::App* env = app.add_subcommand("env", "Show the plugin's settings in this environment");
  auto markdown = std::make_shared<bool>(false);
  env->add_flag("--markdown", *markdown, "print docs/environment.md instead");
  env->callback([&exit_code, markdown] {
    if (*markdown) {
      fmt::print("{}", config_markdown());
    } else {
      exit_code = print_settings();
    }
  });
}

}  // namespace fabrail::cli
