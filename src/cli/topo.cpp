// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Command line of `fabrail topo`.
#include "src/cli/topo.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "src/cli/topo/run.h"

namespace fabrail::cli {

namespace {

void add_source_options(CLI::App& topo, topo::Options& options) {
  topo.add_option(
      "--from", options.from,
      "show the machine that this hwloc XML file describes (lstopo --filter io:all x.xml)");
  topo.add_option("--instance", options.instance, "EC2 instance type (default: what DMI says)")
      ->envname("FABRAIL_INSTANCE");
  topo.add_option("--max-rails", options.max_rails, "largest number of NICs of one device")
      ->envname("FABRAIL_MAX_RAILS")
      ->check(CLI::NonNegativeNumber);
  topo.add_option("--lint", options.lint, "check this NCCL topology file against the machine");
}

void add_output_options(CLI::App& topo, topo::Options& options) {
  topo.add_option("--svg", options.svg, "draw the machine into this file");
  auto* json = topo.add_flag("--json", options.json, "print everything for programs");
  topo.add_flag("--nccl-xml", options.nccl_xml,
                "print the topology file that the plugin gives NCCL")
      ->excludes(json);
}

}  // namespace

void add_topo(CLI::App& app, int& exit_code) {
  auto* topo = app.add_subcommand("topo", "show which NICs serve which GPU, and what NCCL is told");
  auto options = std::make_shared<topo::Options>();
  add_source_options(*topo, *options);
  add_output_options(*topo, *options);
  topo->callback([options, &exit_code] {
    options->color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    if (const char* xml = std::getenv("HWLOC_XMLFILE")) options->hwloc_xml = xml;
    exit_code = topo::run(*options, std::cout, std::cerr);
  });
}

}  // namespace fabrail::cli
