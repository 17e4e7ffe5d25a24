// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// fabrail-sim shape, break, mend; and scripts of them.
#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "tests/sim/efa/cli/commands.h"
#include "tests/sim/efa/cli/quantity.h"
#include "tests/sim/efa/core/clock.h"

namespace fabrail::sim {
namespace {

using NetworkSource = std::function<NetworkView&()>;

template <typename T, typename Parse>
void add_quantity(CLI::App& app, const char* name, std::optional<T>& target, Parse parse,
                  const char* help) {
  app.add_option_function<std::string>(
      name,
      [&target, parse, name](const std::string& text) {
        const auto value = parse(text);
        if (!value) throw CLI::ValidationError(name, "cannot read '" + text + "'");
        target = *value;
      },
      help);
}

struct Target {
  Selection selection;
  std::optional<uint16_t> node;

  void add_to(CLI::App& app) {
    app.add_option("--node", node, "Only this node");
    app.add_option("--nic", selection.nic, "Only this NIC: its name or index");
  }
  std::vector<Nic> nics(NetworkView& network) {
    selection.node = node;
    auto chosen = network.select(selection);
    if (chosen.empty()) throw CommandError{"no such NIC"};
    return chosen;
  }
};

void add_shape(CLI::App& app, const NetworkSource& network) {
  struct State {
    Target target;
    ShapeChange change;
  };
  auto state = std::make_shared<State>();
  CLI::App& shape =
      *app.add_subcommand("shape", "Change how NICs behave: bandwidth, latency, order");
  state->target.add_to(shape);
  ShapeChange& change = state->change;
  add_quantity(shape, "--rate", change.rate_bytes_per_s, parse_rate,
               "Cap, e.g. 100MB (per second); 0: none");
  add_quantity(shape, "--latency", change.latency_ns, parse_duration, "One way, e.g. 10us");
  add_quantity(shape, "--jitter", change.jitter_ns, parse_duration, "Drawn on top of the latency");
  add_quantity(shape, "--unresponsive", change.unresponsive_ns, parse_duration,
               "When to give up on a silent peer");
  shape.add_option("--shuffle", change.shuffle_window,
                   "How many operations may be overtaken; 0: in order");
  shape.add_option("--seed", change.seed, "Of everything that is drawn");
  shape.add_option("--max-qps", change.max_qps, "Queue pairs that may be open");
  shape.add_option("--max-regions", change.max_regions, "Registrations that may be open");
  shape.add_option("--max-ahs", change.max_ahs, "Destinations with an address handle, per process");
  shape.callback([state, network] {
    for (const Nic& nic : state->target.nics(network())) apply_shape(*nic.state, state->change);
    network().announce();
  });
}

struct BreakOptions {
  Target target;
  std::string action;
  std::string operations = "any";
  std::string peer;
  Rule rule;
  std::optional<uint64_t> delay_ns;
  std::optional<uint32_t> chance;
  uint32_t status = static_cast<uint32_t>(Status::kRemoteAbort);
};

Rule to_rule(const BreakOptions& options, uint32_t action) {
  Rule rule = options.rule;
  rule.actions = action;
  const auto operations = parse_operations(options.operations);
  if (!operations) throw CommandError{"--on takes send, read, write, any"};
  rule.operations = *operations;
  if (!options.peer.empty()) {
    const auto peer = parse_peer(options.peer);
    if (!peer) throw CommandError{"--peer takes NODE:INDEX"};
    rule.peer = peer->packed();
  }
  rule.status = static_cast<Status>(options.status);
  rule.delay_ns = options.delay_ns.value_or(0);
  rule.per_million = options.chance.value_or(1'000'000);
  return rule;
}

void apply_break(NetworkView& network, BreakOptions& options) {
  const auto fault = find_fault_action(options.action);
  for (const Nic& nic : options.target.nics(network)) {
    if (apply_link_action(*nic.state, options.action)) continue;
    if (!fault) throw CommandError{fmt::format("no fault is called '{}'", options.action)};
    const auto number = plant(*nic.state, to_rule(options, *fault));
    if (!number) throw CommandError{"the NIC has no room for another rule"};
    fmt::print("node {} {}: rule {}\n", nic.address.node, network.name(nic), *number);
  }
  network.announce();
}

void add_break(CLI::App& app, const NetworkSource& network) {
  auto options = std::make_shared<BreakOptions>();
  CLI::App& command = *app.add_subcommand("break", "Plant a fault");
  options->target.add_to(command);
  command
      .add_option("action", options->action,
                  "link-down, link-up, lose, fail, delay, not-ready, stall, drop, duplicate, "
                  "corrupt, tear-8, tear-128")
      ->required();
  command.add_option("--on", options->operations, "send, read, write or any, comma between");
  command.add_option("--peer", options->peer, "Only towards this NIC: NODE:INDEX");
  command.add_option("--qp", options->rule.local_qpn, "Only from this queue pair");
  command.add_option("--peer-qp", options->rule.remote_qpn, "Only to this queue pair");
  command.add_option("--skip", options->rule.skip, "Let so many operations pass first");
  command.add_option("--times", options->rule.times, "Hit so many and no more; 0: without end");
  command.add_option("--status", options->status,
                     "Completion status of `fail` (docs/emulated-efa.md)");
  add_quantity(command, "--chance", options->chance, parse_chance, "E.g. 10%");
  add_quantity(command, "--delay", options->delay_ns, parse_duration,
               "Of `delay`, before `fail`, of the late halves of `tear`");
  command.callback([options, network] { apply_break(network(), *options); });
}

void add_mend(CLI::App& app, const NetworkSource& network) {
  struct State {
    Target target;
    std::optional<uint32_t> rule;
  };
  auto state = std::make_shared<State>();
  CLI::App& command = *app.add_subcommand("mend", "Lift faults and bring the link up");
  state->target.add_to(command);
  command.add_option("--rule", state->rule, "Only this rule");
  command.callback([state, network] {
    for (const Nic& nic : state->target.nics(network())) mend(*nic.state, state->rule);
    network().announce();
  });
}

/// Waits until `at`; false if the wait was ended early.
bool wait_until(uint64_t at, const std::function<bool()>& done) {
  while (now_ns() < at) {
    if (done()) return false;
    const uint64_t left = at - now_ns();
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(std::min<uint64_t>(left, 10 * kMillisecond)));
  }
  return !done();
}

}  // namespace

void add_change_commands(CLI::App& app, const NetworkSource& network) {
  add_shape(app, network);
  add_break(app, network);
  add_mend(app, network);
}

void play_script(NetworkView& network, const std::string& path, const std::function<bool()>& done) {
  std::ifstream script(path);
  if (!script) throw CommandError{"cannot read " + path};
  const uint64_t begun = now_ns();
  for (std::string line; std::getline(script, line);) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string first;
    if (!(words >> first)) continue;
    if (first[0] == '@') {
      const auto time = parse_duration(first.substr(1));
      if (!time) throw CommandError{fmt::format("{}: cannot read '{}'", path, first)};
      if (!wait_until(begun + *time, done)) return;
      std::getline(words, line);
    }
    CLI::App app("script");
    app.require_subcommand(1);
    add_change_commands(app, [&network]() -> NetworkView& { return network; });
    try {
      app.parse(line);
    } catch (const CLI::ParseError& error) {
      throw CommandError{fmt::format("{}: '{}': {}", path, line, error.what())};
    }
  }
}

}  // namespace fabrail::sim
