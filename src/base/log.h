// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The way from our sentences to NCCL's log.
#pragma once

#include <atomic>
#include <cstdarg>

#include "include/nccl_net_abi.h"

namespace fabrail {

/// Writes lines through the callback that NCCL gave to init(). Before that, lines go nowhere.
///
/// INFO lines carry the subsystems INIT and NET: with NET alone NCCL would hide them by default.
/// Never on the data path: each call formats.
/// Thread  any; NCCL serialises its lines.
class Logger {
 public:
  void set_sink(nccl_net_log_fn sink) { sink_.store(sink, std::memory_order_release); }

  /// For what is worth knowing: visible with NCCL_DEBUG=INFO.
  void info(const char* format, ...) const __attribute__((format(printf, 2, 3)));
  /// For what costs performance or fails and can be mended: visible with NCCL_DEBUG=WARN.
  void warn(const char* format, ...) const __attribute__((format(printf, 2, 3)));

 private:
  void write(nccl_net_log_level_t level, const char* format, va_list arguments) const;

  std::atomic<nccl_net_log_fn> sink_{nullptr};
};

}  // namespace fabrail
