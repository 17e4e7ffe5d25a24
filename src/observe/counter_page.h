// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Where a process's counters live: memory of its own, or a file that others read while it runs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "include/fabrail_counters.h"
#include "src/base/result.h"

namespace fabrail::observe {

/// One counter block for each NCCL device.
class CounterPage {
 public:
  /// `path`    a file to create or overwrite, `%p` in it stands for the process number; empty:
  /// private memory. Errors    kSystem, naming the file and the reason.
  static Result<CounterPage> open(const std::string& path);

  /// The block of a device below FABRAIL_COUNTERS_LANES, marked valid from now on.
  fabrail_counters_t& lane(std::size_t device);

 private:
  struct Unmap {
    void operator()(fabrail_counters_t* page) const noexcept;
  };
  std::unique_ptr<fabrail_counters_t, Unmap> page_;
};

}  // namespace fabrail::observe
