// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Looking at a running process: its maps, limits, environment and the NICs' counters.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "src/cli/doctor/checks.h"
#include "tests/doctor/fake_root.h"

namespace fabrail::doctor {
namespace {

constexpr int kPid = 4242;

std::string map_line(const std::string& path) {
  return "7f0000000000-7f0000001000 r-xp 00000000 fe:00 12345                      " + path + "\n";
}

void set_counter(const FakeRoot& root, int nic, const char* counter, int value) {
  const System system = root.system();
  const std::string path = fmt::format("/sys/class/infiniband/rdmap{}s0", 80 + nic);
  root.write(system.resolve(path).value() + "/ports/1/hw_counters/" + counter,
             std::to_string(value));
}

/// A healthy job on the healthy machine.
void add_job(FakeRoot& root) {
  const std::string folder = fmt::format("/proc/{}", kPid);
  root.write(folder + "/comm", "python\n");
  root.write(folder + "/maps", map_line("/usr/bin/python3") +
                                   map_line("/usr/lib/x86_64-linux-gnu/libnccl.so.2") +
                                   map_line("/usr/lib/x86_64-linux-gnu/libnccl.so.2") +
                                   map_line("/opt/fabrail/lib/libnccl-net-fabrail.so") +
                                   map_line("/opt/amazon/efa/lib64/libfabric.so.1"));
  root.write(folder + "/limits", root.system().read("/proc/self/limits").value());
  root.write(folder + "/status", "Name:\tpython\nCapEff:\t0000000000000000\n");
  std::string environment;
  for (const auto& [name, value] : root.environment) environment += name + "=" + value + '\0';
  root.write(folder + "/environ", environment);
  for (int nic = 0; nic < 8; ++nic) {
    for (const char* counter : {"tx_bytes", "rdma_write_bytes", "rx_drops"}) {
      set_counter(root, nic, counter, 1000);
    }
  }
}

/// Looks at the job; `meanwhile` runs between the two readings of the counters.
Findings look(const FakeRoot& root, const std::function<void()>& meanwhile) {
  System system = root.system();
  system.environment.clear();  // what counts is the environment of the process
  system.wait = [&](double) { meanwhile(); };
  auto job = read_running_job(system, kPid, 0.5);
  EXPECT_TRUE(job.ok());
  Survey result = survey(system_of(system, kPid));
  result.job = job.take();
  return run_checks(result);
}

Findings problems_in(Findings findings) {
  std::erase_if(findings, [](const Finding& one) { return one.verdict < Verdict::kWarning; });
  return findings;
}

TEST(RunningJob, HealthyOneHasNoProblems) {
  FakeRoot root;
  make_healthy(root);
  add_job(root);
  const Findings findings = look(root, [&] {
    for (int nic = 0; nic < 8; ++nic) set_counter(root, nic, "rdma_write_bytes", 5000);
  });
  const Findings problems = problems_in(findings);
  EXPECT_TRUE(problems.empty()) << problems.front().fact;
}

struct JobVariant {
  const char* name;
  std::function<void(FakeRoot&)> mutate;
  std::function<void(const FakeRoot&)> meanwhile;
  const char* check;
  Verdict verdict;
  const char* phrase;
};

void PrintTo(const JobVariant& variant, std::ostream* out) { *out << variant.name; }

void all_nics_move(const FakeRoot& root) {
  for (int nic = 0; nic < 8; ++nic) set_counter(root, nic, "tx_bytes", 5000);
}

std::function<void(FakeRoot&)> maps(std::vector<std::string> paths) {
  return [paths](FakeRoot& root) {
    std::string text;
    for (const std::string& path : paths) text += map_line(path);
    root.write(fmt::format("/proc/{}/maps", kPid), text);
  };
}

constexpr const char* kNccl = "/usr/lib/x86_64-linux-gnu/libnccl.so.2";
constexpr const char* kPlugin = "/opt/fabrail/lib/libnccl-net-fabrail.so";

std::vector<JobVariant> variants() {
  using enum Verdict;
  const auto nothing = [](FakeRoot&) {};
  return {
      {"TwoNccls", maps({kNccl, "/opt/other/libnccl.so.2.21.5", kPlugin}), all_nics_move,
       "job.nccl", kBroken, "two copies"},
      {"NoPlugin", maps({kNccl}), all_nics_move, "job.plugin", kBroken, "no net plugin"},
      {"TwoLibfabrics",
       maps({kNccl, kPlugin, "/opt/amazon/efa/lib64/libfabric.so.1",
             "/usr/lib/libfabric.so.1.20.0"}),
       all_nics_move, "job.libfabric", kBroken, "several copies"},
      {"ReplacedLibrary", maps({kNccl, std::string(kPlugin) + " (deleted)"}), all_nics_move,
       "job.deleted", kWarning, "replaced on disk"},
      {"NothingMoves", nothing, [](const FakeRoot&) {}, "job.traffic", kWarning,
       "no EFA NIC moved"},
      {"OneNicMoves", nothing, [](const FakeRoot& root) { set_counter(root, 0, "tx_bytes", 9999); },
       "job.traffic", kWarning, "1 of 8"},
      {"DropsGrow", nothing,
       [](const FakeRoot& root) {
         all_nics_move(root);
         set_counter(root, 2, "rx_drops", 1003);
       },
       "job.nic-errors", kWarning, "rdmap82s0 (3)"},
      {"OwnMemlock",
       [](FakeRoot& root) {
         root.write(fmt::format("/proc/{}/limits", kPid),
                    "Max locked memory         65536                65536                bytes\n");
       },
       all_nics_move, "limits.memlock", kBroken, "64 KiB"},
      {"OwnEnvironment",
       [](FakeRoot& root) {
         const std::string path = fmt::format("/proc/{}/environ", kPid);
         root.write(path, root.system().read(path).value() + std::string("FI_PROVIDER=tcp\0", 16));
       },
       all_nics_move, "env.provider", kBroken, "tcp"},
  };
}

class BrokenJob : public testing::TestWithParam<JobVariant> {};

TEST_P(BrokenJob, GivesExactlyItsCause) {
  const JobVariant& variant = GetParam();
  FakeRoot root;
  make_healthy(root);
  add_job(root);
  variant.mutate(root);
  const Findings problems = problems_in(look(root, [&] { variant.meanwhile(root); }));
  ASSERT_EQ(problems.size(), 1u) << (problems.size() > 1 ? problems[1].fact : "");
  EXPECT_EQ(problems[0].check, variant.check);
  EXPECT_EQ(problems[0].verdict, variant.verdict);
  EXPECT_NE(problems[0].fact.find(variant.phrase), std::string::npos) << problems[0].fact;
}

INSTANTIATE_TEST_SUITE_P(All, BrokenJob, testing::ValuesIn(variants()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(RunningJob, SaysWhenThereIsNone) {
  FakeRoot root;
  const auto job = read_running_job(root.system(), 7, 0);
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().text(), "there is no process 7");
}

TEST(RunningJob, LooksIntoTheContainerOfTheProcess) {
  FakeRoot root;
  root.write("/proc/7/root/proc/cpuinfo", "");
  root.write("/proc/7/root/etc/nccl.conf", "NCCL_NET=inside\n");
  root.write("/proc/7/environ", std::string("HOME=/root\0A=b", 14));
  const System job = system_of(root.system(), 7);
  EXPECT_EQ(job.variable("A"), "b");
  EXPECT_EQ(read_settings(job).value("NCCL_NET"), "inside");
}

TEST(RunningJob, ReadsMapsOfAnyForm) {
  EXPECT_EQ(
      mapped_files("1-2 r--p 0 0 0 \n1-2 r--p 0 0:0 0 [heap]\n1-2 r--p 0 0 0  /a b (deleted)\n"),
      (std::vector<std::string>{"/a b (deleted)"}));
}

}  // namespace
}  // namespace fabrail::doctor
