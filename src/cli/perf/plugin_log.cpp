// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The log callback that perf hands to the plugin.
#include "src/cli/perf/plugin_log.h"

#include <array>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace fabrail::cli::perf {
namespace {

// The callback gets no context pointer, so what it writes to must be static. The plugin may call
// it from any thread.
struct Log {
  std::mutex mutex;
  int rank = 0;
  bool verbose = false;
  NetworkFacts facts;
};

Log& log_state() {
  static Log log;
  return log;
}

std::optional<std::string> provider_in(std::string_view line) {
  constexpr std::string_view kStart = "Selected provider is ";
  const size_t start = line.find(kStart);
  if (start == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(start + kStart.size());
  return std::string(rest.substr(0, rest.find_first_of(", (\n")));
}

std::optional<int> rails_in(std::string_view line) {
  const size_t word = line.find(" rail");
  if (word == std::string_view::npos || word == 0) return std::nullopt;
  const size_t before = line.find_last_not_of("0123456789", word - 1);
  const size_t start = before == std::string_view::npos ? 0 : before + 1;
  int rails = 0;
  const auto result = std::from_chars(line.data() + start, line.data() + word, rails);
  if (result.ec != std::errc{}) return std::nullopt;
  return rails;
}

const char* level_name(nccl_net_log_level_t level) {
  return level == NCCL_NET_LOG_WARN ? "WARN" : "INFO";
}

void on_line(nccl_net_log_level_t level, unsigned long, const char*, int, const char* format, ...)
    __attribute__((format(printf, 5, 6)));

void on_line(nccl_net_log_level_t level, unsigned long, const char*, int, const char* format, ...) {
  std::array<char, 1024> line{};  // where NCCL cuts, too
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  Log& log = log_state();
  const std::lock_guard<std::mutex> lock(log.mutex);
  learn_from(line.data(), log.facts);
  const bool shown = level == NCCL_NET_LOG_WARN || (log.verbose && level == NCCL_NET_LOG_INFO);
  if (shown) std::fprintf(stderr, "[rank %d] %s %s\n", log.rank, level_name(level), line.data());
}

}  // namespace

void learn_from(std::string_view line, NetworkFacts& facts) {
  if (!facts.provider) facts.provider = provider_in(line);
  // What is said of a device is so; a plan may still be changed.
  const bool of_device = line.find("device 0: ") != std::string_view::npos;
  if (const auto rails = rails_in(line); rails && (of_device || !facts.rails)) facts.rails = rails;
}

void open_plugin_log(int rank, bool verbose) {
  Log& log = log_state();
  const std::lock_guard<std::mutex> lock(log.mutex);
  log.rank = rank;
  log.verbose = verbose;
  log.facts = {};
}

nccl_net_log_fn plugin_log_callback() { return on_line; }

NetworkFacts network_facts() {
  Log& log = log_state();
  const std::lock_guard<std::mutex> lock(log.mutex);
  return log.facts;
}

}  // namespace fabrail::cli::perf
