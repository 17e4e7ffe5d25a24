// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/base/log.h"

#include <cstdio>

namespace fabrail {

namespace {
// NCCL cuts a line at 1024 bytes with its own prefix.
constexpr int kLineBytes = 900;
}  // namespace

void Logger::info(const char* format, ...) const {
  va_list arguments;
  va_start(arguments, format);
  write(NCCL_NET_LOG_INFO, format, arguments);
  va_end(arguments);
}

void Logger::warn(const char* format, ...) const {
  va_list arguments;
  va_start(arguments, format);
  write(NCCL_NET_LOG_WARN, format, arguments);
  va_end(arguments);
}

void Logger::write(nccl_net_log_level_t level, const char* format, va_list arguments) const {
  const nccl_net_log_fn sink = sink_.load(std::memory_order_acquire);
  if (sink == nullptr) return;
  char line[kLineBytes];
  std::vsnprintf(line, sizeof line, format, arguments);
  sink(level, NCCL_NET_LOG_INIT | NCCL_NET_LOG_NET, "fabrail", 0, "NET/fabrail: %s", line);
}

}  // namespace fabrail
