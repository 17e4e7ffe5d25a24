// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The log callback that perf hands to the plugin, and what it learns from the lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "include/nccl_net_abi.h"

namespace fabrail::cli::perf {

/// What a plugin says about its choice of network; empty where it did not say.
struct NetworkFacts {
  std::optional<std::string> provider;
  std::optional<int> rails;
};

/// Adds to `facts` what one line of the log says. Pure.
///
/// "Selected provider is efa (found 4 nics)" names the provider, "... 4 rails ..." the rails. The
/// first line that names one wins.
void learn_from(std::string_view line, NetworkFacts& facts);

/// Starts a log for this process: WARN lines go to stderr, INFO lines too when `verbose`.
void open_plugin_log(int rank, bool verbose);

/// The callback for init().
nccl_net_log_fn plugin_log_callback();

/// What has been learnt so far.
NetworkFacts network_facts();

}  // namespace fabrail::cli::perf
