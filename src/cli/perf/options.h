// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the user asked of `fabrail perf`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabrail::cli::perf {

enum class TestKind { kLatency, kBandwidth, kRate, kAllReduce, kAllToAll };

struct Options {
  std::string plugin;  ///< empty: the one installed with this command
  int abi = 0;         ///< 0: the newest that the plugin exports
  int device = 0;
  bool raw = false;
  std::string raw_domain;  ///< empty: the provider's first
  int ranks = 0;           ///< 0: from the launcher, else 2
  std::string rendezvous;  ///< HOST:PORT; empty: from the launcher
  int timeout_s = 120;
  std::string test = "all";
  std::optional<uint64_t> begin;
  std::optional<uint64_t> end;
  uint64_t factor = 2;
  std::optional<uint64_t> iterations;
  std::optional<uint64_t> warmup;
  int check = 1;
  int depth = 8;
  bool gpu_memory = false;  ///< messages lie in GPUs' memory
  bool json = false;
  bool verbose = false;
  bool corrupt = false;
};

/// Bytes of "8", "64K", "1M" or "2G" (1024-based, as in nccl-tests), or nothing.
std::optional<uint64_t> parse_size(std::string_view text);

/// "8", "64K", "1M": the shortest exact form.
std::string format_size(uint64_t bytes);

/// The name used on the command line and in JSON.
std::string_view name_of(TestKind test);

/// Those that --memory device leaves out are not part of "all".
std::vector<TestKind> tests_of(const Options& options);

/// Throws Failure where options contradict each other.
void validate(const Options& options);

}  // namespace fabrail::cli::perf
