// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the tests of one rank share.
#pragma once

#include <cstdint>
#include <string>

#include "src/cli/common/deadline.h"
#include "src/cli/common/launch.h"
#include "src/cli/common/rendezvous.h"
#include "src/cli/perf/cost_page.h"
#include "src/cli/perf/options.h"
#include "src/cli/perf/plugin.h"
#include "src/cli/perf/poller.h"
#include "src/cli/perf/report.h"

namespace fabrail::cli::perf {

struct Session {
  const Options& options;
  const Environment& environment;
  Plugin& plugin;
  Rendezvous& rendezvous;
  Poller& poller;
  Deadline& deadline;
  const CostPage& cost_page;
  DeviceProperties device;
  Report* report;            ///< rank 0 only
  uint64_t total_wrong = 0;  ///< of all ranks, known to all

  bool is_root() const { return report != nullptr; }
  int rank() const { return rendezvous.rank(); }
  int ranks() const { return rendezvous.ranks(); }

  /// Names the step for the deadline.
  void enter(const Plan& plan, const std::string& part) const {
    deadline.enter(std::string(name_of(plan.test)) + " of " + format_size(plan.bytes) + ", " +
                   part);
  }
};

}  // namespace fabrail::cli::perf
