// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What NCCL itself does wrong, shown with the stub: the reason for rules that the plugin follows,
// and the proof that the other tests would see a crash or a lost plugin.
#include <algorithm>
#include <csignal>

#include "tests/nccl/nccl_fixture.h"

namespace fabrail::nccl_test {
namespace {

class NcclDefect : public NcclTest {
 protected:
  /// A release with the defect ends with `signal`, any other takes Socket.
  static void expect_end(const ProbeResult& result, bool has_defect, int signal) {
    if (has_defect) {
      EXPECT_EQ(result.signal, signal) << result.story();
    } else {
      ASSERT_EQ(result.exit_code, 0) << result.story();
      EXPECT_EQ(result.cycle(0).at("network"), "Socket") << result.story();
    }
  }
};

TEST_P(NcclDefect, CrashesWhenInitOfAnOldAbiFails) {
  // NCCL calls the finalize that the old ABI does not have.
  const ProbeResult result = run_single_version(6, {{"STUB_INIT_RESULT", "2"}});
  expect_end(result, version() >= 22800 && version() <= 22903, SIGSEGV);
}

TEST_P(NcclDefect, FreesTheContextOfAPluginWithoutDevices) {
  // The plugin's finalize() freed it already; then IB, which is off, gets the same pointer.
  const ProbeResult result = run_by_name({{"STUB_DEVICES", "0"}, {"STUB_KEEP_CONTEXT", "1"}});
  expect_end(result, frees_stale_context(), SIGABRT);
}

TEST_P(NcclDefect, FreesTheV10AdaptersConfigTwice) {
  // As above, with the adapter's own context: nothing that a plugin could do about it.
  const ProbeResult result = run_single_version(10, {{"STUB_DEVICES", "0"}});
  expect_end(result, frees_stale_context(), SIGABRT);
}

TEST_P(NcclDefect, ForgetsThePluginsNameWhenItUnloads) {
  const ProbeResult result = run_by_name({}, {"--cycles", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  const bool forgets = version() >= 22800 && version() <= 22907;
  EXPECT_EQ(result.cycle(0).at("network"), network()) << result.story();
  EXPECT_EQ(result.cycle(1).at("network"), forgets ? "Socket" : network()) << result.story();
}

TEST_P(NcclDefect, DoesNotInitialiseAReloadedPlugin) {
  struct Era {
    int since;
    int inits;  // in two communicators, one after the other
  };
  constexpr Era kEras[] = {
      {22800, 2},  // unloads, or calls init() for every communicator
      {22600, 1},  // keeps the plugin
      {22400, 2},  // unloads
      {22200, 1},  // unloads, and believes the fresh image to be initialised
      {0, 1},      // never unloads
  };
  scratch().link("libnccl-net.so", plugin().path);
  const ProbeResult result = run_by_name({}, {"--cycles", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.story();
  const Era* era = std::ranges::find_if(kEras, [&](const Era& e) { return version() >= e.since; });
  EXPECT_EQ(result.lines_with("stub: init"), era->inits) << result.story();
}

INSTANTIATE_NCCL_TEST(NcclDefect, pairs_with("stub"));

}  // namespace
}  // namespace fabrail::nccl_test
