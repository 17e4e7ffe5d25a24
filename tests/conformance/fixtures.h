// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the tests derive from: an initialised plugin, for one ABI version or for each.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/conformance/comms.h"
#include "tests/conformance/net.h"
#include "tests/conformance/options.h"
#include "tests/conformance/peer.h"
#include "tests/conformance/transfer.h"

#if defined(__SANITIZE_THREAD__)
#define FABRAIL_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FABRAIL_TEST_TSAN 1
#endif
#endif

namespace fabrail::conformance {

#ifdef FABRAIL_TEST_TSAN
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

/// A Net between init and finalize.
class OpenNet {
 public:
  explicit OpenNet(int abi) : net_(library(), abi) { EXPECT_EQ(net_.init(), NCCL_NET_SUCCESS); }
  ~OpenNet() {
    if (net_.has_context()) {
      EXPECT_EQ(net_.finalize(), NCCL_NET_SUCCESS);
    }
  }
  OpenNet(const OpenNet&) = delete;
  OpenNet& operator=(const OpenNet&) = delete;

  Net& net() { return net_; }

 private:
  Net net_;
};

/// Cases that do not depend on the ABI version: v8 alone (or the one that was asked for).
class PrimaryTest : public testing::Test {
 protected:
  Net& net() { return open_.net(); }

 private:
  OpenNet open_{primary_abi()};
};

/// Cases that run for every chosen ABI version.
class EveryAbiTest : public testing::TestWithParam<int> {
 protected:
  Net& net() { return open_.net(); }

 private:
  OpenNet open_{GetParam()};
};

inline std::string abi_name(const testing::TestParamInfo<int>& abi) {
  return "v" + std::to_string(abi.param);
}

#define INSTANTIATE_FOR_EVERY_ABI(suite) \
  INSTANTIATE_TEST_SUITE_P(Abi, suite, testing::ValuesIn(options().abis), abi_name)

/// Cases that change their process (limits, environment, exit) or that may crash it: the body runs
/// in this program started again. Use the macro as the first line.
bool in_own_process(const Environment& environment = {});
#define RUN_IN_OWN_PROCESS(...) \
  if (!in_own_process(__VA_ARGS__)) return

/// How soon fabrail looks after a silent peer, or gives up a connection that does not come about.
/// Other plugins ignore these. The latter only where it must happen: a busy machine is slow too.
inline const Environment kFastProbe{"FABRAIL_PROBE_S=1"};
inline const Environment kFastTimeout{"FABRAIL_PROBE_S=1", "FABRAIL_CONNECT_TIMEOUT_S=3"};

/// The exit status that says "skipped" to the process that started this one.
inline constexpr int kSkippedStatus = 77;

/// Each test of the selected ones in a process of its own; the program's exit status.
int run_isolated();

}  // namespace fabrail::conformance
