// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The counters of a NIC, and the files under hw_counters that show them.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/efa/core/fabric.h"

namespace fabrail::sim {

struct CounterFile {
  const char* name;
  Counter counter;
};

/// The files of ports/1/hw_counters, under the names that the kernel driver uses.
std::span<const CounterFile> counter_files();

inline void count(DeviceState& device, Counter counter, uint64_t amount = 1) {
  device.counters[static_cast<uint32_t>(counter)].fetch_add(amount, std::memory_order_relaxed);
}

inline uint64_t counted(const DeviceState& device, Counter counter) {
  return device.counters[static_cast<uint32_t>(counter)].load(std::memory_order_relaxed);
}

/// Keeps the text files of one NIC up to date.
class CounterWriter {
 public:
  /// `hw_counters` is the directory of the files.
  CounterWriter(const DeviceState& device, std::string hw_counters)
      : device_(device), directory_(std::move(hw_counters)) {}

  /// Rewrites the files whose counters moved since the last call of this process.
  void publish();

 private:
  const DeviceState& device_;
  std::string directory_;
  std::mutex mutex_;
  std::vector<uint64_t> written_;
};

}  // namespace fabrail::sim
