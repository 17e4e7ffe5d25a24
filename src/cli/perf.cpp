// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Command line of `fabrail perf`: declares the options and starts the ranks.
#include "src/cli/perf.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "src/cli/common/failure.h"
#include "src/cli/common/launch.h"
#include "src/cli/common/local_ranks.h"
#include "src/cli/perf/options.h"
#include "src/cli/perf/rank.h"

namespace fabrail::cli {
namespace {

/// CLI11 check that turns sizes as people write them into bytes.
std::string to_bytes(std::string& text) {
  const auto bytes = perf::parse_size(text);
  if (!bytes) return "'" + text + "' is not a size such as 8, 64K, 1M or 2G";
  text = std::to_string(*bytes);
  return {};
}

void add_plugin_options(CLI::App& perf, perf::Options& options) {
  perf.add_option("--plugin", options.plugin,
                  "libnccl-net*.so to drive (default: libnccl-net-fabrail.so beside this command, "
                  "else in ../lib)");
  perf.add_option("--abi", options.abi, "net ABI version (default: the newest that it exports)")
      ->check(CLI::Range(6, 12));
  perf.add_option("--device", options.device, "index of the plugin's device")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  perf.add_flag("--raw", options.raw, "measure the same pattern on libfabric itself, side by side");
  perf.add_option("--raw-domain", options.raw_domain,
                  "libfabric domain for --raw (default: the first of the provider)");
}

void add_job_options(CLI::App& perf, perf::Options& options) {
  perf.add_option("--ranks", options.ranks,
                  "fork this many ranks here (default: this process is one rank of the job that "
                  "torchrun, mpirun or srun started, else 2)")
      ->check(CLI::Range(2, 1024));
  perf.add_option("--rendezvous", options.rendezvous,
                  "HOST:PORT where the ranks of a job meet (default: from the launcher)");
  perf.add_option("--timeout", options.timeout_s,
                  "seconds that one step, such as a size of a test, may take")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
}

void add_test_options(CLI::App& perf, perf::Options& options) {
  perf.add_option("--test", options.test, "latency, bandwidth, rate, allreduce, alltoall or all")
      ->check(CLI::IsMember({"latency", "bandwidth", "rate", "allreduce", "alltoall", "all"}))
      ->capture_default_str();
  const CLI::Validator size(to_bytes, "SIZE");
  perf.add_option("-b,--minbytes", options.begin, "first size (8, 64K, 1M, 2G)")->transform(size);
  perf.add_option("-e,--maxbytes", options.end, "last size")->transform(size);
  perf.add_option("-f,--stepfactor", options.factor, "from one size to the next")
      ->check(CLI::Range(2, 1 << 30))
      ->capture_default_str();
  perf.add_option("-n,--iters", options.iterations, "timed iterations (default: by size)")
      ->check(CLI::PositiveNumber);
  perf.add_option("-w,--warmup_iters", options.warmup, "iterations before (default: by size)")
      ->check(CLI::NonNegativeNumber);
  perf.add_option("-c,--check", options.check, "1: compare every byte after the timed loop, 0: no")
      ->check(CLI::Range(0, 1))
      ->capture_default_str();
  perf.add_option_function<std::string>(
          "--memory", [&](const std::string& kind) { options.gpu_memory = kind == "device"; },
          "where messages lie: host, or device (a GPU's memory: latency, bandwidth and rate)")
      ->check(CLI::IsMember({"host", "device"}))
      ->default_str("host");
  perf.add_option("--depth", options.depth, "messages outstanding in one direction")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
}

void add_output_options(CLI::App& perf, perf::Options& options) {
  perf.add_flag("--json", options.json, "one JSON object a line instead of a table");
  perf.add_flag("-v,--verbose", options.verbose, "show what the plugin logs at INFO");
  perf.add_flag("--corrupt", options.corrupt, "flip a received byte before each check")->group("");
}

/// This process as one rank, or the parent of forked ones.
int start(const perf::Options& options) {
  const auto environment = [](const char* name) { return std::getenv(name); };
  const auto place = options.ranks > 0 ? std::nullopt : place_of(environment);
  if (place) return perf::run_launched_rank(options, *place, environment);
  const int ranks = options.ranks > 0 ? options.ranks : 2;
  return run_local_ranks(ranks, [&](int rank, Socket listener) {
    return perf::run_local_rank(options, {.rank = rank, .ranks = ranks}, std::move(listener),
                                environment);
  });
}

int run(const perf::Options& options) {
  try {
    perf::validate(options);
    return start(options);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "fabrail perf: %s\n", failure.what());
    return 1;
  }
}

}  // namespace

void add_perf(CLI::App& app, int& exit_code) {
  CLI::App* perf = app.add_subcommand("perf", "Measures a plugin as NCCL would use it");
  // Scripts append to a fixed command line: the last one counts.
  perf->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const auto options = std::make_shared<perf::Options>();
  add_plugin_options(*perf, *options);
  add_job_options(*perf, *options);
  add_test_options(*perf, *options);
  add_output_options(*perf, *options);
  perf->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace fabrail::cli
