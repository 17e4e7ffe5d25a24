// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The flush and the protocols: each row of the document.
#include "src/gpu/flush.h"

#include <gtest/gtest.h>

#include "src/gpu/protocols.h"
#include "tests/gpu/table.h"

namespace fabrail::gpu {
namespace {

FlushChoice choice_of(const std::string& cell) {
  if (cell == "none") return FlushChoice::kNone;
  if (cell == "driver") return FlushChoice::kDriver;
  return cell == "loopback" ? FlushChoice::kLoopbackRead : FlushChoice::kAuto;
}

FlushInputs flush_inputs(Row row) {
  return {.device_memory = row["GPU memory"] == "yes",
          .compute_major = version_of(row["compute capability"]).first,
          .orders_writes = row["GPU keeps order"] == "yes",
          .flush_by_host = row["GPU flushes"] == "yes",
          .native_read = row["NIC reads"] == "yes",
          .forced = row["forced"] == "yes",
          .choice = choice_of(row["FABRAIL_FLUSH"])};
}

TEST(Flush, IsDecidedAsTheDocumentSays) {
  const std::vector<Row> rows = read_table("flush");
  ASSERT_GE(rows.size(), 15u);
  for (Row row : rows) {
    const FlushDecision decision = decide_flush(flush_inputs(row));
    const std::string method = decision.sound ? flush_name(decision.method) : "unsafe";
    EXPECT_EQ(method, row["method"]) << to_text(row);
    EXPECT_NE(decision.reason.find(row["because"]), std::string::npos) << to_text(row) << "\n"
                                                                       << decision.reason;
  }
}

// Whatever the inputs are, NICs are not let loose on a GPU that may ask for a flush and gets none.
TEST(Flush, IsNeverMissingUnnoticed) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const FlushInputs in{.device_memory = true,
                         .compute_major = (bits & 1) != 0 ? 9 : 8,
                         .orders_writes = (bits & 2) != 0,
                         .flush_by_host = (bits & 4) != 0,
                         .native_read = (bits & 8) != 0,
                         .forced = (bits & 16) != 0,
                         .choice = static_cast<FlushChoice>(bits >> 6)};
    const FlushDecision decision = decide_flush(in);
    const bool needed = !in.orders_writes && (in.compute_major < 9 || in.forced);
    EXPECT_FALSE(needed && decision.sound && decision.method == FlushMethod::kNone) << bits;
    EXPECT_TRUE(in.flush_by_host || decision.method != FlushMethod::kDriver) << bits;
    EXPECT_TRUE(in.native_read || decision.method != FlushMethod::kLoopbackRead) << bits;
    EXPECT_FALSE(decision.reason.empty()) << bits;
  }
}

TEST(Protocols, AreDecidedAsTheDocumentSays) {
  const std::vector<Row> rows = read_table("protocols");
  ASSERT_GE(rows.size(), 9u);
  for (Row row : rows) {
    const ProtocolDecision decision =
        decide_protocols({.device_memory = row["GPU memory"] == "yes",
                          .provider = row["provider"],
                          .push = row["data by"] == "write",
                          .keeps_128_bytes = row["keeps 128 bytes"] == "yes"});
    EXPECT_EQ(decision.ll.yes, row["LL"] == "yes") << to_text(row);
    EXPECT_EQ(decision.ll128.yes, row["LL128"] == "yes") << to_text(row);
    const std::string setting = decision.nccl_proto();
    EXPECT_EQ(setting.empty() ? "-" : setting, row["NCCL_PROTO"]) << to_text(row);
    const Verdict& worse = decision.ll.yes ? decision.ll128 : decision.ll;
    EXPECT_NE(worse.reason.find(row["because"]), std::string::npos) << worse.reason;
  }
}

}  // namespace
}  // namespace fabrail::gpu
