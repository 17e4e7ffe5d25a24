// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Keeps the plugin's log lines in memory.
#include "tests/conformance/log_lines.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace fabrail::conformance {
namespace {

constexpr size_t kKeep = 4096;  // a plugin that logs for each message must not eat the memory

struct Kept {
  std::mutex mutex;
  std::vector<LogLine> lines;
};

// Never destroyed: a plugin may log while the process exits.
Kept& kept() {
  static auto* const lines = new Kept;
  return *lines;
}

}  // namespace

void log_line(nccl_net_log_level_t level, unsigned long, const char*, int, const char* format,
              ...) {
  std::array<char, 1024> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  const std::lock_guard lock(kept().mutex);
  if (kept().lines.size() < kKeep) kept().lines.push_back({level, text.data()});
}

std::vector<LogLine> logged_lines() {
  const std::lock_guard lock(kept().mutex);
  return kept().lines;
}

int logged_warnings() {
  const auto lines = logged_lines();
  return static_cast<int>(std::count_if(lines.begin(), lines.end(), [](const LogLine& line) {
    return line.level == NCCL_NET_LOG_WARN;
  }));
}

void forget_log() {
  const std::lock_guard lock(kept().mutex);
  kept().lines.clear();
}

}  // namespace fabrail::conformance
