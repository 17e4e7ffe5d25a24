// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How what NICs wrote to GPU memory is made visible to kernels, and why so.
#pragma once

#include <string>

namespace fabrail::gpu {

enum class FlushMethod : unsigned char {
  kNone,          ///< nothing is to be done
  kDriver,        ///< cuFlushGPUDirectRDMAWrites
  kLoopbackRead,  ///< a read from the device memory through every rail that wrote
};

/// What the user asks for: FABRAIL_FLUSH.
enum class FlushChoice : unsigned char { kAuto, kNone, kDriver, kLoopbackRead };

struct FlushInputs {
  bool device_memory = false;  ///< NICs reach it at all
  int compute_major = 0;
  bool orders_writes = false;  ///< DeviceFacts
  bool flush_by_host = false;  ///< DeviceFacts
  bool native_read = false;    ///< the NIC can read by itself
  bool forced = false;         ///< NCCL_NET_FORCE_FLUSH
  FlushChoice choice = FlushChoice::kAuto;
};

struct FlushDecision {
  FlushMethod method = FlushMethod::kNone;
  /// False: kernels could see old bytes, and NICs must not be given this GPU's memory.
  bool sound = true;
  std::string reason;
};

/// NCCL asks for a flush when it wants one (below compute capability 9.0, when forced, and on some
/// machines with C2C links): the method is used whenever it asks.
FlushDecision decide_flush(const FlushInputs& inputs);

/// "none", "driver", "loopback read".
const char* flush_name(FlushMethod method);

}  // namespace fabrail::gpu
