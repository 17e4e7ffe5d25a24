// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail stalls` on two ranks whose writes the emulated NICs hold back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/command.h"

namespace fabrail::test {
namespace {

// Asks both ranks until one says what the NIC withholds; then lets the job end. Older versions of
// libfabric write by having the other side read.
TEST(StallsOnEfa, NamesTheCompletionThatTheNicWithholds) {
  const std::string script = fmt::format(R"sh(
    {0} break stall --on read,write >/dev/null
    {1} perf --plugin {2} --ranks 2 --test bandwidth -b 1M -e 1M -n 2 -w 1 --timeout 300 >/dev/null &
    job=$!
    withheld='waits for the completion of'
    until echo "$state" | grep -q "$withheld"; do
      kill -0 $job || exit 1
      for rank in $(cat /proc/$job/task/$job/children); do state="$state $({1} stalls $rank 2>/dev/null)"; done
    done
    echo "$state" | grep "$withheld"
    {0} mend >/dev/null
    wait $job)sh",
                                         FABRAIL_SIM, FABRAIL_COMMAND, FABRAIL_PLUGIN);
  const Outcome outcome = run({FABRAIL_SIM, "run", "--instance", "p5en", "--nodes", "1", "--nics",
                               "2", "--once", "--", "/bin/sh", "-c", script},
                              {"FABRAIL_PROVIDER=efa", "FABRAIL_PULL=0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  EXPECT_NE(outcome.out.find("send communicator"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace fabrail::test
