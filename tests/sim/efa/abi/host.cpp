// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Opens the node that FABRAIL_SIM_DIR and FABRAIL_SIM_NODE name.
#include "tests/sim/efa/abi/host.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "tests/sim/efa/abi/settings.h"

namespace fabrail::sim {
namespace {

constexpr const char* kSysfsVariable = "SYSFS_PATH";

/// What outlives calls. Leaked on purpose: the engine thread runs until the process ends.
struct State {
  std::mutex mutex;
  std::unique_ptr<Host> host;
  bool failed = false;
  std::string sysfs_set_by_us;
};

State*& state() {
  static State* instance = [] {
    pthread_atfork(nullptr, nullptr, [] { state() = new State; });
    return new State;
  }();
  return instance;
}

std::optional<Settings> settings_or_complaint() {
  std::string error;
  auto settings = read_settings([](const char* name) { return std::getenv(name); }, error);
  if (!settings) fmt::print(stderr, "fabrail-sim: {}\n", error);
  return settings;
}

/// libfabric refuses every device unless it finds class/infiniband_verbs there.
void point_sysfs(State& current, const std::string& path) {
  const char* value = std::getenv(kSysfsVariable);
  if (value != nullptr && current.sysfs_set_by_us != value) return;
  setenv(kSysfsVariable, path.c_str(), 1);
  current.sysfs_set_by_us = path;
}

std::unique_ptr<Host> open_host(State& current) {
  const auto settings = settings_or_complaint();
  if (!settings) return nullptr;
  std::string error;
  auto opened = std::make_unique<Host>();
  opened->fabric = Fabric::open(settings->directory, settings->description, error);
  if (opened->fabric) opened->node = Node::open(*opened->fabric, settings->node, error);
  if (!opened->node) {
    fmt::print(stderr, "fabrail-sim: {}\n", error);
    return nullptr;
  }
  point_sysfs(current, opened->node->sysfs());
  return opened;
}

}  // namespace

Host* host() {
  State& current = *state();
  const std::lock_guard lock(current.mutex);
  if (!current.host && !current.failed) {
    current.host = open_host(current);
    current.failed = current.host == nullptr;
  }
  return current.host.get();
}

void prepare_sysfs() {
  const auto settings = settings_or_complaint();
  if (!settings) return;
  std::string error;
  const auto fabric = Fabric::open(settings->directory, settings->description, error);
  if (fabric && fabric->prepare_node(settings->node))
    point_sysfs(*state(), fabric->node_path(settings->node) + "/sys");
}

bool belongs_here(const Device& device) { return device.opener() == getpid(); }

void debug(const std::string& line) {
  static const bool enabled = std::getenv("FABRAIL_SIM_DEBUG") != nullptr;
  if (enabled) fmt::print(stderr, "fabrail-sim[{}]: {}\n", getpid(), line);
}

}  // namespace fabrail::sim
