// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What people and programs see: golden reports, width, colour, exit codes, explanations, options.
// FABRAIL_UPDATE_GOLDEN=1 in the environment rewrites the golden files instead of comparing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/doctor.h"
#include "src/cli/doctor/report.h"
#include "src/cli/doctor/text.h"
#include "tests/doctor/fake_root.h"

namespace fabrail::doctor {
namespace {

struct Outcome {
  int code = 0;
  std::string text;
};

Outcome run(const FakeRoot& root, const std::function<void(DoctorOptions&)>& change = {}) {
  DoctorOptions options;
  options.system = root.system();
  if (change) change(options);
  std::ostringstream out;
  const int code = run_doctor(options, out);
  return {code, out.str()};
}

void as_json(DoctorOptions& options) { options.json = true; }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void compare_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(FABRAIL_GOLDEN_DIR) + "/" + name;
  if (std::getenv("FABRAIL_UPDATE_GOLDEN") != nullptr)
    std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(text, read_file(path)) << "golden file " << path;
}

void break_several(FakeRoot& root) {
  root.remove("/dev/infiniband/uverbs7");
  root.environment["FI_PROVIDER"] = "tcp";
  root.environment["NCCL_NET_GDR_LEVEL"] = "LOC";
  root.write("/etc/nccl.conf", "NCCL_DEBUG = INFO\n");
}

TEST(Report, HealthyMachine) {
  FakeRoot root;
  make_healthy(root);
  const Outcome text = run(root);
  EXPECT_EQ(text.code, 0);
  compare_golden("healthy.txt", text.text);
  compare_golden("healthy.json", run(root, as_json).text);
}

TEST(Report, BrokenMachine) {
  FakeRoot root;
  make_healthy(root);
  break_several(root);
  const Outcome text = run(root);
  EXPECT_EQ(text.code, 2);
  compare_golden("broken.txt", text.text);
  compare_golden("broken.json", run(root, as_json).text);
}

TEST(Report, ImageBeforeItRuns) {
  FakeRoot root;
  make_software(root);
  const Outcome text = run(root);
  EXPECT_EQ(text.code, 0);
  compare_golden("image.txt", text.text);
}

TEST(Report, TypeWithoutEfa) {
  FakeRoot root;
  root.write("/sys/devices/virtual/dmi/id/product_name", "p3.16xlarge\n");
  root.write("/sys/devices/virtual/dmi/id/sys_vendor", "Amazon EC2\n");
  root.write("/sys/class/net/lo/flags", "0x9\n");
  const Outcome text = run(root);
  EXPECT_EQ(text.code, 0);
  compare_golden("no_efa.txt", text.text);
}

TEST(Report, Log) {
  const std::string path = std::string(FABRAIL_GOLDEN_DIR) + "/fallback.log";
  FakeRoot root;
  const Outcome text = run(root, [&](DoctorOptions& options) { options.log = path; });
  EXPECT_EQ(text.code, 2);
  compare_golden("fallback.txt", text.text);
}

TEST(Report, WarningsAloneGiveOne) {
  FakeRoot root;
  make_healthy(root);
  root.environment["NCCL_ALGO"] = "Ring";
  EXPECT_EQ(run(root).code, 1);
}

TEST(Report, EightyColumnsAreEnough) {
  FakeRoot root;
  make_healthy(root);
  break_several(root);
  for (const std::string& line : lines(run(root).text)) EXPECT_LE(line.size(), 80u) << line;
  for (const Check& check : all_checks()) {
    const auto explanation = run(root, [&](DoctorOptions& options) { options.explain = check.id; });
    for (const std::string& line : lines(explanation.text)) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Report, ColourOnlyAddsSequences) {
  FakeRoot root;
  make_healthy(root);
  break_several(root);
  const std::string plain = run(root).text;
  std::string coloured = run(root, [](DoctorOptions& options) { options.colour = true; }).text;
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  EXPECT_NE(coloured.find('\033'), std::string::npos);
  for (std::size_t at = coloured.find('\033'); at != std::string::npos;
       at = coloured.find('\033')) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  EXPECT_EQ(coloured, plain);
}

TEST(Report, KeepsTerminalSequencesOfOthersOut) {
  EXPECT_EQ(wrapped("a\033[2Jb \x07", "  "), "  a?[2Jb ?\n");
}

TEST(Report, JsonSurvivesBytesThatAreNoText) {
  std::ostringstream out;
  write_json(broken("\xff\xfe", "x", "y"), "machine", out);
  EXPECT_NE(out.str().find("\"exit\": 2"), std::string::npos);
}

TEST(Checks, HaveDistinctNamesAndExplainThemselves) {
  std::set<std::string> ids;
  for (const Check& check : all_checks()) {
    EXPECT_TRUE(ids.emplace(check.id).second) << check.id;
    EXPECT_FALSE(check.title.empty()) << check.id;
    EXPECT_FALSE(check.explanation.empty()) << check.id;
    EXPECT_LT(check.id.size(), 26u) << check.id << " does not fit its column";
  }
}

TEST(Doctor, ExplainsAndListsChecks) {
  FakeRoot root;
  const auto known = run(root, [](DoctorOptions& options) { options.explain = "lib.verbs-pair"; });
  EXPECT_EQ(known.code, 0);
  EXPECT_NE(known.text.find("IBVERBS_PRIVATE_n"), std::string::npos);
  EXPECT_EQ(run(root, [](DoctorOptions& options) { options.explain = "x"; }).code, 3);
  const auto list = run(root, [](DoctorOptions& options) { options.list = true; });
  EXPECT_EQ(lines(list.text).size(), all_checks().size());
}

TEST(Doctor, SaysWhenItCannotAnswer) {
  FakeRoot root;
  EXPECT_EQ(run(root, [](DoctorOptions& options) { options.log = "/no/such/file"; }).code, 3);
  EXPECT_EQ(run(root, [](DoctorOptions& options) { options.pid = 99; }).code, 3);
}

int run_command(std::vector<std::string> arguments) {
  CLI::App app("fabrail");
  int code = 0;
  add_doctor_command(app, code);
  std::reverse(arguments.begin(), arguments.end());
  testing::internal::CaptureStdout();
  try {
    app.parse(arguments);
  } catch (const CLI::Error& error) {
    std::ostringstream ignored;
    code = app.exit(error, ignored, ignored);
  }
  testing::internal::GetCapturedStdout();
  return code;
}

TEST(Command, TakesTheEnvironmentOfAnImageFromItsOptions) {
  FakeRoot root;
  make_software(root);
  std::vector<std::string> arguments{"doctor", "--root", root.path().string()};
  for (const auto& [name, value] : root.environment) {
    arguments.push_back("--env");
    arguments.push_back(name + "=" + value);
  }
  EXPECT_EQ(run_command(arguments), 0);
  arguments.insert(arguments.end(), {"--env", "NCCL_ALGO=Ring"});
  EXPECT_EQ(run_command(arguments), 1);
  root.write("/env",
             "NCCL_NET='x'\nLD_LIBRARY_PATH=/opt/fabrail/lib:/opt/amazon/efa/lib64\n"
             "NCCL_NET_PLUGIN=fabrail\n");
  EXPECT_EQ(run_command({"doctor", "--root", root.path().string(), "--env-file",
                         root.path().string() + "/env"}),
            2);
}

TEST(Command, RefusesWrongOptions) {
  EXPECT_NE(run_command({"doctor", "--root", "/no/such/folder"}), 0);
  EXPECT_NE(run_command({"doctor", "--pid", "-1"}), 0);
  EXPECT_EQ(run_command({"doctor", "--list"}), 0);
}

}  // namespace
}  // namespace fabrail::doctor
