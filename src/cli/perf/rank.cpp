// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One rank of `fabrail perf`.
#include "src/cli/perf/rank.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "src/cli/common/failure.h"
#include "src/cli/perf/collectives.h"
#include "src/cli/perf/plugin_log.h"
#include "src/cli/perf/point_to_point.h"
#include "src/cli/perf/session.h"

namespace fabrail::cli::perf {
namespace {

constexpr int kWrongExitCode = 2;

/// The plugin that was built or installed together with this command.
std::string default_plugin() {
  const auto directory = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const char* file = "libnccl-net-fabrail.so";
  const auto beside = directory / file;
  if (std::filesystem::exists(beside)) return beside;
  return (directory.parent_path() / "lib" / file).lexically_normal();
}

void check_device(const Options& options, Plugin& plugin) {
  const int devices = plugin.devices();
  if (devices <= 0) {
    throw Failure(
        fmt::format("plugin {} has no device: it found no network that it can use; -v "
                    "shows why in its log",
                    plugin.name()));
  }
  if (options.device >= devices) {
    throw Failure(fmt::format("--device {} does not exist: plugin {} has devices 0 to {}",
                              options.device, plugin.name(), devices - 1));
  }
}

std::string headline(const Plugin& plugin, const DeviceProperties& device, const Identity& identity,
                     const Options& options) {
  return fmt::format(
      "# fabrail perf: {}\n# plugin {}, ABI v{}, device {} ({}), provider {}, rails {}, {} ranks",
      plugin.path(), plugin.name(), plugin.abi(), options.device, device.name,
      identity.provider.value_or("unknown"),
      identity.rails ? std::to_string(*identity.rails) : "unknown", identity.ranks);
}

void run_tests(Session& session) {
  for (const TestKind test : tests_of(session.options)) {
    if (test == TestKind::kAllReduce || test == TestKind::kAllToAll) {
      run_collective(session, test);
    } else {
      run_point_to_point(session, test);
    }
  }
}

void complain(uint64_t wrong) {
  std::fprintf(stderr, "fabrail perf: %s\n",
               fmt::format("{} wrong elements: data was damaged on the way; find the smallest "
                           "--test, -b and --depth that show it, and report it with the log of -v",
                           wrong)
                   .c_str());
}

/// Loads the plugin and goes through the tests; the number of wrong elements of all ranks.
uint64_t measure(const Options& options, Rendezvous& rendezvous, Deadline& deadline,
                 const Environment& environment) {
  const CostPage cost_page;
  deadline.enter("loading and initialising the plugin");
  Plugin plugin(options.plugin.empty() ? default_plugin() : options.plugin, options.abi);
  open_plugin_log(rendezvous.rank(), options.verbose);
  plugin.init(plugin_log_callback());
  check_device(options, plugin);
  const DeviceProperties device = plugin.properties(options.device);

  const NetworkFacts facts = network_facts();
  const Identity identity{.ranks = rendezvous.ranks(),
                          .abi = plugin.abi(),
                          .provider = facts.provider,
                          .rails = facts.rails};
  std::optional<Report> report;
  if (rendezvous.rank() == 0) {
    report.emplace(Report::Style{.json = options.json, .with_raw = options.raw}, identity,
                   headline(plugin, device, identity, options));
  }
  Poller poller(rendezvous);
  Session session{.options = options,
                  .environment = environment,
                  .plugin = plugin,
                  .rendezvous = rendezvous,
                  .poller = poller,
                  .deadline = deadline,
                  .cost_page = cost_page,
                  .device = device,
                  .report = report ? &*report : nullptr};
  run_tests(session);
  if (report) report->end(session.total_wrong, options.check != 0);
  if (report && session.total_wrong > 0) complain(session.total_wrong);
  deadline.enter("waiting for the other ranks to finish");
  rendezvous.barrier();
  return session.total_wrong;
}

/// `meet` makes the rendezvous, under the deadline.
template <class Meet>
int run_rank(const Options& options, int rank, const Environment& environment, Meet&& meet) {
  try {
    Deadline deadline(
        "fabrail perf: rank " + std::to_string(rank),
        "; a peer or the network is stuck (-v shows the plugin's log), or raise --timeout",
        options.timeout_s);
    deadline.enter("waiting for all ranks to come to the rendezvous");
    Rendezvous rendezvous = meet();
    const uint64_t wrong = measure(options, rendezvous, deadline, environment);
    return wrong == 0 ? 0 : kWrongExitCode;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "fabrail perf: rank %d: %s\n", rank, failure.what());
    return 1;
  }
}

}  // namespace

int run_local_rank(const Options& options, RankOf place, Socket listener,
                   const Environment& environment) {
  return run_rank(options, place.rank, environment, [&] {
    if (place.rank == 0) return Rendezvous::host(std::move(listener), place.ranks);
    const uint16_t port = listener.local_port();
    listener = Socket();
    return Rendezvous::join("127.0.0.1", port, place.rank, place.ranks);
  });
}

int run_launched_rank(const Options& options, Place place, const Environment& environment) {
  return run_rank(options, place.rank, environment, [&] {
    if (place.ranks < 2) {
      throw Failure("the " + place.launcher +
                    " job has one rank, but a network needs two: start "
                    "more ranks, or use --ranks to fork them here");
    }
    if (!options.rendezvous.empty()) override_rendezvous(place, options.rendezvous);
    if (place.address.empty()) {
      throw Failure("cannot tell from the variables of " + place.launcher +
                    " on which host rank 0 runs: set MASTER_ADDR for all ranks (mpirun -x "
                    "MASTER_ADDR=...) or give --rendezvous HOST:PORT");
    }
    if (place.rank != 0) {
      return Rendezvous::join(place.address, place.port, place.rank, place.ranks);
    }
    return Rendezvous::host(Socket::listen(place.address, place.port), place.ranks);
  });
}

}  // namespace fabrail::cli::perf
