// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/topology/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fabrail::topology::testing {

namespace {

const char* word(Path path) {
  switch (path) {
    case Path::kSwitch:
      return "switch";
    case Path::kHostBridge:
      return "host bridge";
    case Path::kLocality:
      return "NUMA node";
    case Path::kMachine:
      return "machine";
  }
  return "?";
}

const char* word(GpuDirect verdict) {
  switch (verdict) {
    case GpuDirect::kNo:
      return "no";
    case GpuDirect::kYes:
      return "yes";
    case GpuDirect::kUnknown:
      return "unknown";
  }
  return "?";
}

void write_group(std::ostream& out, const NicGroup& group, const std::vector<Nic>& nics) {
  out << "device " << group.name << "\n";
  out << "  speed " << group.speed_mbps << " Mb/s, latency " << group.latency_us << " us, guid "
      << std::hex << group.guid << std::dec << ", port " << group.port << ", rail " << group.rail_id
      << ", plane " << group.plane_id << ", numa " << group.numa << "\n";
  out << "  path " << group.pci_path << "\n";
  out << "  rails";
  for (const GroupRail& rail : group.rails) {
    out << " " << (nics[rail.nic].pci ? to_text(*nics[rail.nic].pci) : nics[rail.nic].name);
  }
  out << "\n  gpus";
  for (const GroupGpu& gpu : group.gpus) {
    out << " " << to_text(gpu.address) << " (" << word(gpu.path) << ")";
  }
  out << "\n  GPUDirect " << word(group.gpudirect) << "\n";
  for (const std::string& reason : group.reasons) out << "  because: " << reason << "\n";
}

// Every second port of p5's first four switches keeps one NIC, and so on: see the names.
const std::vector<std::string> kThreeNicsOfFourSwitches = {
    "0000:50:00.0", "0000:51:00.0", "0000:52:00.0", "0000:61:00.0", "0000:62:00.0", "0000:63:00.0",
    "0000:72:00.0", "0000:73:00.0", "0000:74:00.0", "0000:83:00.0", "0000:84:00.0", "0000:85:00.0"};
const std::vector<std::string> kAllNicsOfTwoSwitches = {
    "0000:4f:00.0", "0000:50:00.0", "0000:51:00.0", "0000:52:00.0",
    "0000:93:00.0", "0000:94:00.0", "0000:95:00.0", "0000:96:00.0"};
const std::vector<std::string> kP5GpusOfNumaNode1 = {"0000:97:00.0", "0000:a8:00.0", "0000:b9:00.0",
                                                     "0000:ca:00.0"};

}  // namespace

const std::vector<GoldenScene>& golden_scenes() {
  static const std::vector<GoldenScene> scenes = {
      {"p3dn", {.machine = "p3dn.24xlarge"}},
      {"p4d", {.machine = "p4d.24xlarge"}},
      {"p5", {.machine = "p5.48xlarge"}},
      {"p5en", {.machine = "p5en.48xlarge", .reported_mbps = 200000}},
      {"p6-b200", {.machine = "p6-b200.48xlarge", .reported_mbps = 400000}},
      {"p6-b300", {.machine = "p6-b300.48xlarge", .reported_mbps = 400000}},
      {"g5", {.machine = "g5.48xlarge"}},
      {"g6", {.machine = "g6.48xlarge"}},
      {"g6e", {.machine = "g6e.48xlarge"}},
      {"p5-one-nic-on-four-switches",
       {.machine = "p5.48xlarge", .hidden = kThreeNicsOfFourSwitches}},
      {"p5-no-nic-on-two-switches", {.machine = "p5.48xlarge", .hidden = kAllNicsOfTwoSwitches}},
      {"p5-half-the-gpus", {.machine = "p5.48xlarge", .hidden = kP5GpusOfNumaNode1}},
      {"p5en-14-nics",
       {.machine = "p5en.48xlarge",
        .not_offered = {"0000:58:00.0", "0000:71:00.0"},
        .reported_mbps = 200000}},
      {"p5en-half-the-gpus",
       {.machine = "p5en.48xlarge",
        .hidden = {"0000:5a:00.0", "0000:73:00.0", "0000:8c:00.0", "0000:a5:00.0"},
        .reported_mbps = 200000}},
      {"p5en-old-driver", {.machine = "p5en.48xlarge", .reported_mbps = 100000}},
      {"p6-b200-no-rate", {.machine = "p6-b200.48xlarge", .reported_mbps = 0}},
      {"p5-two-rails-at-most", {.machine = "p5.48xlarge", .settings = {.max_rails = 2}}},
  };
  return scenes;
}

std::string describe(const Plan& plan, const std::vector<Nic>& nics) {
  std::ostringstream out;
  out << "instance " << plan.instance_name << "\n";
  for (const NicGroup& group : plan.groups) write_group(out, group, nics);
  for (const std::size_t nic : plan.left_out) out << "left out " << nics[nic].name << "\n";
  for (const std::string& decision : plan.decisions) out << "decision: " << decision << "\n";
  return out.str();
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string file = FABRAIL_TOPOLOGY_TESTS "/golden/" + name;
  if (std::getenv("FABRAIL_WRITE_GOLDENS") != nullptr) {
    std::ofstream(file) << text;
    return;
  }
  std::ifstream stream(file);
  ASSERT_TRUE(stream) << file << " is missing; to write it: ninja topology_goldens";
  const std::string golden(std::istreambuf_iterator<char>(stream), {});
  EXPECT_EQ(text, golden) << "if this change is wanted: ninja topology_goldens, and read the diff";
}

}  // namespace fabrail::topology::testing
