// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// fabrail_conformance: what NCCL relies on, checked on any net plugin through its ABI alone.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/log_lines.h"
#include "tests/conformance/options.h"
#include "tests/conformance/peer.h"

namespace fabrail::conformance {
namespace {

/// Shows what the plugin said beside what the test says.
class ShowLog : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { forget_log(); }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    for (const LogLine& line : logged_lines()) {
      if (line.level <= NCCL_NET_LOG_WARN) std::printf("  plugin WARN: %s\n", line.text.c_str());
    }
  }
};

// Asked in a process of its own, as some tests want to be the first to open the plugin.
void probe_memory(Net& net, Channel&) {
  Properties properties;
  ASSERT_EQ(net.get_properties(0, &properties), NCCL_NET_SUCCESS);
  ASSERT_NE(properties.ptr_support & NCCL_NET_PTR_CUDA, 0);
}
const Role kProbeMemory("probe_memory", probe_memory);

bool takes_gpu_memory() {
  constexpr int kSeconds = 60;
  const pid_t child = start_self({"--peer", kProbeMemory.name(), "--peer-abi",
                                  std::to_string(primary_abi()), "--peer-channel", "-1"},
                                 {}, -1);
  return child > 0 && wait_for_exit(child, kSeconds) == 0;
}

int run() {
  if (!options().peer_role.empty()) return play_role();
  if (options().device_memory() && !options().memory_known && !takes_gpu_memory()) {
    std::printf("the plugin takes host memory only (NCCL_DEBUG=INFO says why)\n");
    return options().must_take_memory ? 1 : kSkippedStatus;
  }
  if (options().isolate) return run_isolated();
  const int status = RUN_ALL_TESTS();
  const auto& all = *testing::UnitTest::GetInstance();
  const bool skipped =
      all.skipped_test_count() > 0 && all.skipped_test_count() == all.test_to_run_count();
  return status == 0 && skipped ? kSkippedStatus : status;
}

}  // namespace
}  // namespace fabrail::conformance

int main(int argc, char** argv) {
  fabrail::conformance::read_options(&argc, argv);
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new fabrail::conformance::ShowLog);
  return fabrail::conformance::run();
}

#ifdef FABRAIL_TEST_SANITIZED
// libfabric's tcp provider loses an endpoint for each stranger that connects and goes.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libfabric.so\n";
}
#endif
