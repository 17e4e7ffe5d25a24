// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The choice of a path: each row of the document, and what the rows do not show.
#include "src/gpu/path.h"

#include <gtest/gtest.h>

#include "tests/gpu/table.h"

namespace fabrail::gpu {
namespace {

PathInputs good_inputs() {
  return {.driver_problem = "",
          .gpudirect = true,
          .dmabuf = true,
          .kernel_dmabuf = true,
          .peer_memory = "",
          .libfabric_major = 2,
          .libfabric_minor = 4,
          .hmem = true,
          .provider = "efa",
          .fabric = "efa-direct",
          .native_read = true,
          .native_write = true,
          .nic_moves_all = true};
}

void set_provider(const std::string& cell, PathInputs& in) {
  in.nic_moves_all = cell.find("with copies") == std::string::npos;
  in.fabric = cell.substr(0, cell.find(' '));
  in.provider = in.fabric.starts_with("efa") ? "efa" : in.fabric;
}

PathInputs inputs_of(Row row) {
  PathInputs in;
  in.driver_problem = row["driver"] == "yes" ? "" : "there is no CUDA driver here";
  in.gpudirect = row["GPUDirect"] == "yes";
  in.dmabuf = row["exports dma-buf"] == "yes";
  in.kernel_dmabuf = version_of(row["Linux"]) >= std::pair{5, 12};
  std::tie(in.libfabric_major, in.libfabric_minor) = version_of(row["libfabric"]);
  in.hmem = row["CUDA in it"] == "yes";
  in.native_read = row["RDMA"].starts_with("read");
  in.native_write = row["RDMA"].ends_with("write");
  set_provider(row["provider"], in);
  return in;
}

// "dma-buf, peer memory" or "all"; the names of paths contain each other, so whole items count.
ProbeFailures failures_of(const std::string& cell) {
  ProbeFailures failures;
  const std::string list = ", " + cell + ",";
  for (std::size_t i = 0; i < kPaths.size(); ++i) {
    const std::string item = std::string(", ") + path_name(kPaths[i]) + ",";
    if (cell == "all" || list.find(item) != std::string::npos) failures[i] = "Bad address";
  }
  return failures;
}

TEST(Paths, AreDecidedAsTheDocumentSays) {
  const std::vector<Row> rows = read_table("path");
  ASSERT_GE(rows.size(), 20u);
  for (Row row : rows) {
    const PathDecision decision =
        decide_path(judge_paths(inputs_of(row)), failures_of(row["refused"]));
    EXPECT_EQ(path_name(decision.path), row["path"]) << to_text(row);
    EXPECT_NE(decision.explanation().find(row["because"]), std::string::npos)
        << to_text(row) << "\n"
        << decision.explanation();
  }
}

TEST(Paths, NameTheModuleThatGivesPeerMemory) {
  PathInputs in = good_inputs();
  in.dmabuf = false;
  in.peer_memory = "efa_nv_peermem";
  const PathDecision decision = decide_path(judge_paths(in), {});
  EXPECT_EQ(decision.explanation(), "peer memory: kernel module efa_nv_peermem is loaded");
}

TEST(Paths, TellTheReasonAndRemedyOfEachWhenNoneIsLeft) {
  const PathDecision decision =
      decide_path(judge_paths(good_inputs()),
                  {"Bad address", "Bad address", "No such device", "Operation not permitted"});
  EXPECT_EQ(decision.path, Path::kNone);
  const std::string text = decision.explanation();
  for (const char* part : {"none; dma-buf: ", "; peer memory: ", "; dma-buf as host memory: ",
                           "; peer memory as host memory: ", "No such device",
                           "Operation not permitted", "efa_nv_peermem"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  }
}

TEST(Paths, TellOfThoseThatWereNotTaken) {
  PathInputs in = good_inputs();
  in.hmem = false;
  in.libfabric_minor = 1;
  in.peer_memory = "efa_nv_peermem";
  PathDecision decision = decide_path(judge_paths(in), {});
  ASSERT_EQ(decision.path, Path::kDmabufAsHost);
  EXPECT_EQ(
      decision.others(),
      "; not dma-buf and peer memory: this libfabric (2.1) was built without CUDA (install "
      "the EFA installer's libfabric, or name one that has CUDA in FABRAIL_LIBFABRIC)"
      "; or peer memory as host memory: efa-direct leaves all bytes to the NIC; kernel module "
      "efa_nv_peermem is loaded");
  decision =
      decide_path(judge_paths(in), {std::nullopt, std::nullopt, "Bad address", std::nullopt});
  ASSERT_EQ(decision.path, Path::kPeerMemoryAsHost);
  EXPECT_NE(decision.others().find("; not dma-buf as host memory: tried, and refused: Bad address"),
            std::string::npos)
      << decision.others();
  EXPECT_EQ(decide_path(judge_paths(in), {std::nullopt, std::nullopt, "Bad address", "Bad address"})
                .others(),
            "");
}

TEST(Paths, OfADeviceAreThoseOfAllItsNics) {
  const PathInputs in = good_inputs();
  const Verdicts whole = decide_path(judge_paths(in), {}).verdicts;
  const Verdicts part =
      decide_path(judge_paths(in), {"Bad address", std::nullopt, std::nullopt, std::nullopt})
          .verdicts;
  for (const Verdicts& verdicts : {both(whole, part), both(part, whole)}) {
    const PathDecision decision = decide_path(verdicts, {});
    EXPECT_EQ(decision.path, Path::kPeerMemory);
    EXPECT_NE(decision.others().find("; not dma-buf: tried, and refused: Bad address"),
              std::string::npos)
        << decision.others();
  }
}

TEST(Paths, SayOnceWhatHoldsForAll) {
  PathInputs in = good_inputs();
  in.gpudirect = false;
  const std::string text = decide_path(judge_paths(in), {}).explanation();
  EXPECT_TRUE(text.starts_with("none: the GPU does not let NICs reach its memory")) << text;
  EXPECT_EQ(text.find("dma-buf"), std::string::npos) << text;
}

TEST(Paths, GiveARemedyForEachObjectionOfTheirOwn) {
  for (Row row : read_table("path")) {
    const PathInputs in = inputs_of(row);
    if (!in.driver_problem.empty()) continue;  // that sentence brings its own
    for (const Verdict& verdict :
         decide_path(judge_paths(in), failures_of(row["refused"])).verdicts)
      EXPECT_EQ(verdict.remedy.empty(), verdict.yes) << to_text(row) << verdict.reason;
  }
}

// A p4d's NICs do not write, so a libfabric that has efa-direct does not offer it on them.
TEST(Paths, AdviseANewerLibfabricOnlyWhereThatHelps) {
  PathInputs in = good_inputs();
  in.hmem = false;
  in.fabric = "efa";
  in.native_write = false;
  in.libfabric_minor = 1;
  const std::string with_direct = decide_path(judge_paths(in), {}).explanation();
  EXPECT_EQ(with_direct.find("2.1 or newer"), std::string::npos) << with_direct;
  in.libfabric_major = 1;
  in.libfabric_minor = 22;
  const std::string without = decide_path(judge_paths(in), {}).explanation();
  EXPECT_NE(without.find("2.1 or newer"), std::string::npos) << without;
}

TEST(Paths, AreNotBroughtToLifeByATrial) {
  PathInputs in = good_inputs();
  in.gpudirect = false;
  EXPECT_EQ(decide_path(judge_paths(in), {}).path, Path::kNone);
}

}  // namespace
}  // namespace fabrail::gpu
