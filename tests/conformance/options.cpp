// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reads the command line and opens the plugin.
#include "tests/conformance/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace fabrail::conformance {
namespace {

constexpr const char* kOwnPlugin = "libnccl-net-fabrail.so";

Options& mutable_options() {
  static Options options;
  return options;
}

std::string beside_executable() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / kOwnPlugin).string();
}

void resolve_plugin(Options& o) {
  if (o.plugin.empty()) o.plugin = beside_executable();
  o.plugin = std::filesystem::absolute(o.plugin).string();
  o.own_plugin = std::filesystem::path(o.plugin).filename() == kOwnPlugin;
}

void resolve_abis(Options& o) {
  if (!library().error().empty()) {
    std::fprintf(stderr, "cannot open the plugin: %s\n", library().error().c_str());
    std::exit(2);
  }
  const std::vector<int> exported = library().abis();
  std::vector<int> asked = o.abis.empty() ? exported : o.abis;
  std::sort(asked.begin(), asked.end());
  o.abis.clear();
  std::set_intersection(asked.begin(), asked.end(), exported.begin(), exported.end(),
                        std::back_inserter(o.abis));
  if (o.abis.empty()) {
    std::fprintf(stderr, "%s exports no ncclNetPlugin_vN that was asked for\n", o.plugin.c_str());
    std::exit(2);
  }
}

}  // namespace

void read_options(int* argc, char** argv) {
  Options& o = mutable_options();
  CLI::App app{
      "Drives an NCCL net plugin through its ABI and checks what NCCL relies on.\n"
      "GoogleTest's own flags (--gtest_filter, --gtest_list_tests ...) work too."};
  app.add_option("--plugin", o.plugin,
                 "the plugin's file; default: fabrail's, beside this program");
  app.add_option("--abi", o.abis, "ABI versions to test, 6 to 12; default: all that are exported")
      ->delimiter(',')
      ->check(CLI::Range(kOldestAbi, kNewestAbi));
  app.add_flag("--long", o.long_run, "full sizes: 100000 messages, 4096 communicators, soak")
      ->envname("FABRAIL_CONFORMANCE_LONG");
  app.add_flag("--isolate", o.isolate, "each test in a process of its own: a crash ends one test");
  app.add_option("--memory", o.memory,
                 "where messages lie: host; device (a GPU's, registered by regMr and flushed after "
                 "each receive); dmabuf (the same, by regMrDmaBuf)")
      ->check(CLI::IsMember({"host", "device", "dmabuf"}));
  app.add_flag("--must-take-memory", o.must_take_memory,
               "fail where the plugin takes no GPU memory, instead of skipping all")
      ->envname("FABRAIL_CONFORMANCE_MUST_TAKE_MEMORY");
  app.add_flag("--memory-known", o.memory_known)->group("");
  app.add_option("--peer", o.peer_role)->group("");
  app.add_option("--peer-abi", o.peer_abi)->group("");
  app.add_option("--peer-channel", o.peer_channel)->group("");
  app.allow_extras();
  try {
    app.parse(*argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  for (const std::string& extra : app.remaining()) {
    if (extra.rfind("--gtest_", 0) == 0) continue;
    std::fprintf(stderr, "unknown argument %s\n", extra.c_str());
    std::exit(2);
  }
  resolve_plugin(o);
  resolve_abis(o);
}

const Options& options() { return mutable_options(); }

const Library& library() {
  static const Library opened(options().plugin);
  return opened;
}

int primary_abi() {
  const auto& abis = options().abis;
  return std::find(abis.begin(), abis.end(), 8) != abis.end() ? 8 : abis.back();
}

}  // namespace fabrail::conformance
