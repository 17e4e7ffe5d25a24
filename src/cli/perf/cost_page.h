// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What a message cost inside the plugin, read from the counter page that it keeps.
#pragma once

#include <cstdint>
#include <optional>

#include "include/fabrail_counters.h"

namespace fabrail::cli::perf {

/// Counters over a stretch of time; plain, so that ranks can exchange it.
struct Cost {
  uint64_t posts = 0;
  uint64_t completions = 0;
  uint64_t control_bytes = 0;
  uint64_t copied_bytes = 0;  ///< of payload, by the CPU
  bool known = false;

  Cost& operator+=(const Cost& other);
};

Cost operator-(const Cost& later, const Cost& earlier);

/// A page of this process, announced to the plugin in FABRAIL_COUNTERS. Open it before loading the
/// plugin; a plugin that does not know the variable leaves the page unknown.
class CostPage {
 public:
  CostPage();
  ~CostPage();
  CostPage(const CostPage&) = delete;
  CostPage& operator=(const CostPage&) = delete;

  Cost read() const;

 private:
  int descriptor_;
  fabrail_counters_t* page_ = nullptr;
};

}  // namespace fabrail::cli::perf
