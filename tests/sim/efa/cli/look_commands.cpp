// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// fabrail-sim list, load, describe, play; and the option that names a network.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/sim/efa/cli/commands.h"
#include "tests/sim/efa/core/clock.h"
#include "tests/sim/efa/core/counters.h"
#include "tests/sim/efa/core/presets.h"

namespace fabrail::sim {
namespace {

std::string link_text(const Shape& shape) {
  if (shape.lost.load() != 0) return "lost";
  return shape.link_down.load() != 0 ? "down" : "up";
}

std::string rate_text(uint64_t rate) {
  return rate == 0 ? "-" : fmt::format("{:.1f}MB/s", static_cast<double>(rate) / 1e6);
}

void print_rules(const DeviceState& state) {
  for (uint32_t i = 0; i < kMaxRules; ++i) {
    const RuleSlot& rule = state.rules[i];
    if (rule.active.load() < 2) continue;
    fmt::print("      rule {}: actions {:#x} operations {:#x} status {} matched {} fired {}\n", i,
               rule.actions.load(), rule.operations.load(), rule.status.load(), rule.matched.load(),
               rule.fired.load());
  }
}

void print_nic(const NetworkView& network, const Nic& nic) {
  const Shape& shape = nic.state->shape;
  fmt::print("{:>4} {:>3} {:<12} {:<5} {:>10} {:>8}us {:>4} {:>5} {:>6} {:>12} {:>12} {:>12}\n",
             nic.address.node, nic.address.device, network.name(nic), link_text(shape),
             rate_text(shape.rate_bytes_per_s.load()), shape.latency_ns.load() / 1000,
             shape.shuffle_window.load(), nic.state->open_qps.load(),
             nic.state->open_regions.load(), counted(*nic.state, Counter::kSendBytes),
             counted(*nic.state, Counter::kReadBytes), counted(*nic.state, Counter::kWriteBytes));
  print_rules(*nic.state);
}

/// What a killed process could not publish any more.
void publish_counters(const NetworkView& network, const Nic& nic) {
  CounterWriter(*nic.state, network.node_path(nic.address.node) + "/sys/class/infiniband/" +
                                network.name(nic) + "/ports/1/hw_counters")
      .publish();
}

void list(NetworkView& network) {
  fmt::print("{:>4} {:>3} {:<12} {:<5} {:>10} {:>10} {:>4} {:>5} {:>6} {:>12} {:>12} {:>12}\n",
             "node", "nic", "name", "link", "cap", "latency", "shuf", "qps", "mrs", "send bytes",
             "read bytes", "write bytes");
  for (const Nic& nic : network.select({})) {
    print_nic(network, nic);
    publish_counters(network, nic);
  }
}

/// How capped links spent their time, by the network's own schedule.
void show_load(NetworkView& network) {
  fmt::print("{:>4} {:>3} {:<12} {:>16} {:>16} {:>16} {:>16}\n", "node", "nic", "name",
             "sending us", "idle us", "receiving us", "idle us");
  const auto us = [](const std::atomic<uint64_t>& ns) { return ns.load() / kMicrosecond; };
  for (const Nic& nic : network.select({})) {
    const Link& link = nic.state->link;
    fmt::print("{:>4} {:>3} {:<12} {:>16} {:>16} {:>16} {:>16}\n", nic.address.node,
               nic.address.device, network.name(nic), us(link.transmit.busy_ns),
               us(link.transmit.idle_ns), us(link.receive.busy_ns), us(link.receive.idle_ns));
    publish_counters(network, nic);
  }
}

}  // namespace

void NetworkOption::add_to(CLI::App& app) {
  const char* inherited = std::getenv("FABRAIL_SIM_DIR");
  directory_ = inherited != nullptr ? inherited : fmt::format("/dev/shm/fabrail-sim-{}", getuid());
  app.add_option("--dir", directory_, "Directory of the network (default: $FABRAIL_SIM_DIR)");
}

std::unique_ptr<NetworkView> NetworkOption::open() const {
  std::string error;
  auto network = NetworkView::open(directory_, error);
  if (!network) throw CommandError{error};
  return network;
}

void add_look_commands(CLI::App& app) {
  auto listed = std::make_shared<NetworkOption>();
  CLI::App& list_command = *app.add_subcommand("list", "Show NICs, their state and their traffic");
  listed->add_to(list_command);
  list_command.callback([listed] { list(*listed->open()); });

  auto loaded = std::make_shared<NetworkOption>();
  CLI::App& load = *app.add_subcommand("load", "Show how long capped links were busy and idle");
  loaded->add_to(load);
  load.callback([loaded] { show_load(*loaded->open()); });

  auto instance = std::make_shared<std::string>();
  CLI::App& describe = *app.add_subcommand("describe", "Print the description of an instance type");
  describe.add_option("instance", *instance, "A preset")->required();
  describe.callback([instance] {
    const auto preset = find_preset(*instance);
    if (!preset) throw CommandError{fmt::format("known are {}", fmt::join(preset_names(), ", "))};
    fmt::print("{}", format_description(*preset));
  });

  struct Play {
    NetworkOption network;
    std::string script;
  };
  auto play = std::make_shared<Play>();
  CLI::App& play_command = *app.add_subcommand("play", "Apply a script of shape, break, mend");
  play->network.add_to(play_command);
  play_command.add_option("script", play->script, "The file")->required();
  play_command.callback([play] {
    const auto network = play->network.open();
    play_script(*network, play->script, [] { return false; });
  });
}

}  // namespace fabrail::sim
