// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What an engine is made with, and what its calls take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/gpu/driver.h"
#include "src/gpu/flush.h"
#include "src/gpu/path.h"
#include "src/transport/messages.h"
#include "src/transport/state_requests.h"

namespace fabrail::transport {

struct Registration;

/// How this device's NICs are given GPU memory.
struct DeviceMemory {
  const gpu::Driver* driver = nullptr;  ///< outlives the engine; null: not at all
  std::vector<gpu::Path> paths;         ///< that work on every rail, best first
  gpu::FlushMethod flush = gpu::FlushMethod::kNone;
};

/// What the engine takes from the configuration.
struct EngineSettings {
  std::uint32_t eager_bytes = 0;
  std::uint32_t min_stripe_bytes = 0;
  std::int64_t connect_timeout_ms = 0;  ///< 0: none
  std::int64_t probe_ms = 0;            ///< 0: never
  std::int64_t timeout_ms = 0;          ///< 0: never
  std::int64_t stall_ms = 0;            ///< 0: stalls are not reported
  /// Large messages are read by their receiver, instead of written to it.
  enum class Pull : std::uint8_t { kNever, kWhereWritesAreEmulated, kAlways };
  Pull pull = Pull::kWhereWritesAreEmulated;
  DeviceMemory device = {};
  Terms terms = {};                ///< what peers are told of this process
  bool must_agree = false;         ///< differences between peers are errors
  StateRequests* state = nullptr;  ///< null: nobody asks
  std::size_t number = 0;          ///< of this device
  std::string rank = {};           ///< of this process in its job; empty: unknown
};

/// One receive of an irecv.
struct ReceiveArgs {
  std::byte* data = nullptr;
  std::uint32_t capacity = 0;
  std::int32_t tag = 0;
  Registration* registration = nullptr;
};

/// One receive that iflush is to make visible.
struct FlushArgs {
  const std::byte* data = nullptr;
  Registration* registration = nullptr;
};

}  // namespace fabrail::transport
