// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// NICs that have no more room: for queue pairs, registrations, destinations. What needs one fails
// and says why, and works as soon as there is room again.
#include <ostream>
#include <string>

#include "tests/conformance/fixtures.h"
#include "tests/conformance/log_lines.h"
#include "tests/efa/network.h"

namespace fabrail::efa {
namespace {

using namespace conformance;

Result try_to_listen(const Net& net) {
  Handle handle;
  void* comm = nullptr;
  const Result result = net.listen(0, handle.bytes.data(), &comm);
  if (comm != nullptr) net.close_listen(comm);
  return result;
}

Result try_to_register(const Net& net) {
  const Pair pair = connect_loopback(net);
  EXPECT_TRUE(pair);
  sim("shape --max-regions 1");
  Pages memory(1 << 20);
  void* mr = nullptr;
  const Result result =
      net.reg_mr(pair.send.get(), memory.data(), memory.size(), NCCL_NET_PTR_HOST, &mr);
  EXPECT_EQ(mr, nullptr);
  return result;
}

struct Shortage {
  const char* name;
  const char* begin;  ///< arguments of fabrail-sim; empty: the attempt does it
  const char* end;
  Result (*attempt)(const Net& net);
};

void PrintTo(const Shortage& shortage, std::ostream* out) { *out << shortage.name; }

class Exhaustion : public testing::TestWithParam<Shortage> {};

TEST_P(Exhaustion, IsAnErrorUntilThereIsRoom) {
  RUN_IN_OWN_PROCESS();
  OpenNet open(primary_abi());
  const Shortage& shortage = GetParam();
  forget_log();
  if (*shortage.begin != '\0') sim(shortage.begin);
  const Result result = shortage.attempt(open.net());
  sim(shortage.end);
  EXPECT_EQ(result, NCCL_NET_SYSTEM_ERROR);
  EXPECT_GE(logged_warnings(), 1) << "the error has no explanation";
  const Pair pair = connect_loopback(open.net());
  ASSERT_TRUE(pair);
  EXPECT_TRUE(works(open.net(), pair));
}

INSTANTIATE_TEST_SUITE_P(Of, Exhaustion,
                         testing::Values(Shortage{"QueuePairs", "shape --max-qps 0",
                                                  "shape --max-qps 256", try_to_listen},
                                         Shortage{"Registrations", "", "shape --max-regions 20000",
                                                  try_to_register},
                                         Shortage{"Destinations", "shape --max-ahs 0",
                                                  "shape --max-ahs 256", try_to_listen}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace fabrail::efa
