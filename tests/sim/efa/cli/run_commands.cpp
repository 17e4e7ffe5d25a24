// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// fabrail-sim start, stop, run, on.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tests/sim/efa/abi/settings.h"
#include "tests/sim/efa/cli/commands.h"

namespace fabrail::sim {
namespace {

/// What a new network looks like.
struct NewNetwork {
  std::string instance = "p5";
  uint16_t nodes = 2;
  uint16_t nics = 0;
  std::vector<std::string> settings;

  void add_to(CLI::App& app) {
    app.add_option("--instance", instance, "A preset (p4d, p5, p5en, ...) or a description file");
    app.add_option("--nodes", nodes, "How many nodes")->check(CLI::Range(1, 1024));
    app.add_option("--nics", nics, "Only the first so many NICs of each node");
    app.add_option("--set", settings, "More lines of description, e.g. 'shuffle 32'")
        ->allow_extra_args(false);
  }
  Description describe() const;
  void create(const std::string& directory) const;
};

Description NewNetwork::describe() const {
  const std::string lines = fmt::format("{}", fmt::join(settings, ";"));
  const std::string count = nics == 0 ? "" : std::to_string(nics);
  const auto lookup = [&](const char* name) -> const char* {
    if (std::strcmp(name, "FABRAIL_SIM_INSTANCE") == 0) return instance.c_str();
    if (std::strcmp(name, "FABRAIL_SIM_NICS") == 0) return count.c_str();
    return std::strcmp(name, "FABRAIL_SIM_SET") == 0 ? lines.c_str() : nullptr;
  };
  std::string error;
  auto settings_read = read_settings(lookup, error);
  if (!settings_read) throw CommandError{error};
  return settings_read->description;
}

void NewNetwork::create(const std::string& directory) const {
  std::string error;
  const auto fabric = Fabric::open(directory, describe(), error);
  if (!fabric) throw CommandError{error};
  for (uint16_t node = 0; node < nodes; ++node)
    if (!fabric->prepare_node(node))
      throw CommandError{fmt::format("{}: {}", directory, std::strerror(errno))};
}

std::unique_ptr<NetworkView> view(const std::string& directory) {
  std::string error;
  auto network = NetworkView::open(directory, error);
  if (!network) throw CommandError{error};
  return network;
}

void remove_network(const std::string& directory) {
  std::error_code failed;
  if (!std::filesystem::exists(directory + "/description", failed))
    throw CommandError{directory + " is no emulated network"};
  std::filesystem::remove_all(directory, failed);
  if (failed) throw CommandError{fmt::format("{}: {}", directory, failed.message())};
}

/// A network that lives as long as the command that uses it.
class TemporaryNetwork {
 public:
  TemporaryNetwork() {
    std::string name = "/dev/shm/fabrail-sim-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw CommandError{"cannot make a directory in /dev/shm"};
    path_ = name;
  }
  ~TemporaryNetwork() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryNetwork(const TemporaryNetwork&) = delete;
  TemporaryNetwork& operator=(const TemporaryNetwork&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct LaunchArguments {
  LaunchOptions options;

  void add_to(CLI::App& app) {
    app.add_flag("--mount", options.mount_sysfs,
                 "Show the node's sysfs at /sys, in a private namespace");
    app.add_option("--libraries", options.library_directory,
                   "Directory of the emulated libibverbs.so.1");
    app.add_option("command", options.command, "What to run, after --")->required();
    app.positionals_at_end();
  }
  void check() {
    // A positional before it makes the parser take "--" for an argument.
    if (options.command[0] == "--") options.command.erase(options.command.begin());
    if (options.library_directory.empty()) options.library_directory = find_library_directory();
    if (options.library_directory.empty()) throw CommandError{"cannot find the emulated libraries"};
    if (options.mount_sysfs && !enter_user_namespace_if_needed())
      throw CommandError{"--mount needs root or user namespaces"};
  }
};

struct RunArguments {
  NewNetwork network;
  LaunchArguments launch;
  std::string script;
  uint32_t per_node = 1;
  bool once = false;

  std::vector<Place> places() const;
};

std::vector<Place> RunArguments::places() const {
  std::vector<Place> all;
  const uint32_t size = once ? 1 : network.nodes * per_node;
  for (uint16_t node = 0; node < network.nodes; ++node)
    for (uint32_t local = 0; local < per_node && all.size() < size; ++local)
      all.push_back({node, local, static_cast<uint32_t>(all.size()), size});
  return all;
}

/// Plays the script while the command runs.
class ScriptPlayer {
 public:
  ScriptPlayer(NetworkView& network, const std::string& path) {
    if (path.empty()) return;
    thread_ = std::thread([this, &network, path] {
      try {
        play_script(network, path, [this] { return done_.load(); });
      } catch (const CommandError& error) {
        fmt::print(stderr, "fabrail-sim: {}\n", error.what);
      }
    });
  }
  ~ScriptPlayer() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  ScriptPlayer(const ScriptPlayer&) = delete;
  ScriptPlayer& operator=(const ScriptPlayer&) = delete;

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

int run(RunArguments& arguments) {
  arguments.launch.check();
  const TemporaryNetwork temporary;
  arguments.network.create(temporary.path());
  const auto network = view(temporary.path());
  const ScriptPlayer player(*network, arguments.script);
  return run_everywhere(*network, arguments.places(), arguments.launch.options);
}

void add_run(CLI::App& app, int& result) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App& command = *app.add_subcommand("run", "Run a command on every node of a new network");
  arguments->network.add_to(command);
  command.add_option("--per-node", arguments->per_node, "Processes per node");
  command.add_flag("--once", arguments->once,
                   "Run it once, on node 0; it starts others by `fabrail-sim on`");
  command.add_option("--script", arguments->script, "Faults to play meanwhile")
      ->check(CLI::ExistingFile);
  arguments->launch.add_to(command);
  command.callback([arguments, &result] { result = run(*arguments); });
}

void add_on(CLI::App& app, int& result) {
  struct State {
    NetworkOption network;
    LaunchArguments launch;
    uint16_t node = 0;
  };
  auto state = std::make_shared<State>();
  CLI::App& command = *app.add_subcommand("on", "Run a command on one node of a network");
  state->network.add_to(command);
  command.add_option("node", state->node, "Number of the node")->required();
  state->launch.add_to(command);
  command.callback([state, &result] {
    state->launch.check();
    const auto network = state->network.open();
    run_on_node(*network, {state->node}, state->launch.options);
    fmt::print(stderr, "fabrail-sim: {}: {}\n", state->launch.options.command[0],
               std::strerror(errno));
    result = 127;
  });
}

}  // namespace

void add_run_commands(CLI::App& app, int& result) {
  auto fresh = std::make_shared<NewNetwork>();
  auto where = std::make_shared<NetworkOption>();
  CLI::App& start = *app.add_subcommand("start", "Make a network and print its directory");
  fresh->add_to(start);
  where->add_to(start);
  start.callback([fresh, where] {
    fresh->create(where->directory());
    fmt::print("{}\n", where->directory());
  });
  auto old = std::make_shared<NetworkOption>();
  CLI::App& stop = *app.add_subcommand("stop", "Remove a network");
  old->add_to(stop);
  stop.callback([old] { remove_network(old->directory()); });
  add_run(app, result);
  add_on(app, result);
}

}  // namespace fabrail::sim
