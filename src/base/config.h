// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Every setting of the plugin: one table drives parsing, `fabrail env` and docs/environment.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace fabrail {

/// The effective settings of this process.
struct Config {
  std::string provider;
  std::string nics;
  std::string libfabric;
  std::string counters;
  std::string instance;
  std::string require;
  std::int64_t rails = 0;
  std::int64_t max_rails = 0;
  std::int64_t tune_nccl = 1;
  std::int64_t eager_bytes = 8192;
  std::int64_t min_stripe_bytes = 131072;
  std::int64_t pull = 1;
  std::string flush;
  std::int64_t connect_timeout_s = 120;
  std::int64_t probe_s = 10;
  std::int64_t timeout_s = 0;
  std::int64_t stall_s = 20;
  std::int64_t dump_signal = 0;
  std::int64_t abort_on_error = 0;

  // Settings that belong to others, which the plugin honours.
  std::string fi_provider;
  std::string device_rdma;
  std::string nccl_net;
  std::string nccl_force_flush;
  std::string hwloc_xml;
};

/// One row of the table: an environment variable, where its value goes, its bounds and what it is
/// for.
struct Param {
  std::variant<std::string Config::*, std::int64_t Config::*> field;
  const char* name;
  const char* summary;  ///< one or more sentences, for people
  const char* unit;     ///< "" for text and plain numbers
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// All parameters, in the order in which the documentation shows them.
std::span<const Param> params();

/// Looks an environment variable up; null if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Reads every parameter from `environment`. A value that is not a number or out of bounds leaves
/// that parameter at its default and adds a sentence to `complaints`; nothing else is lost.
Config parse_config(const Environment& environment, std::vector<std::string>& complaints);

/// The current value of a parameter as text.
std::string to_text(const Param& param, const Config& config);

/// docs/environment.md.
std::string config_markdown();

}  // namespace fabrail
