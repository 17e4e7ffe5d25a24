// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail topo` on machines that are not here.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "src/cli/topo/picture.h"
#include "src/cli/topo/run.h"
#include "src/cli/topo/svg.h"
#include "tests/topology/golden.h"
#include "tests/topology/temporary.h"
#include "topology/xml_reader.h"

namespace fabrail::cli::topo {
namespace {

using topology::testing::data_file;
using topology::testing::temporary_file;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome run_topo(const Options& options) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run(options, out, err);
  return {code, out.str(), err.str()};
}

// Characters, not bytes.
std::size_t width(const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

class Picture : public ::testing::TestWithParam<topology::testing::GoldenScene> {
 protected:
  static Scene scene() {
    const topology::testing::Scene& wanted = GetParam().scene;
    topology::Machine machine = machine_of(wanted);
    machine.tree = topology::testing::without(machine.tree, wanted.not_offered);
    return make_scene(std::move(machine), wanted.settings, "/nonexistent");
  }
};

TEST_P(Picture, IsTheOneThatWasSeen) {
  std::ostringstream out;
  draw_picture(scene(), false, out);
  topology::testing::expect_golden(std::string(GetParam().name) + ".picture.txt", out.str());
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    if (line == "why") break;
    EXPECT_LE(width(line), 100U) << line;
  }
}

TEST_P(Picture, ShowsEveryGpuAndDeviceOnce) {
  const Scene drawn = scene();
  std::vector<std::size_t> gpus;
  std::vector<std::size_t> devices;
  for (const Place& place : drawn.places) {
    gpus.insert(gpus.end(), place.gpus.begin(), place.gpus.end());
    devices.insert(devices.end(), place.devices.begin(), place.devices.end());
  }
  std::ranges::sort(gpus);
  std::ranges::sort(devices);
  ASSERT_EQ(gpus.size(), drawn.gpus.size());
  ASSERT_EQ(devices.size(), drawn.plan.groups.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) EXPECT_EQ(gpus[i], i);
  for (std::size_t i = 0; i < devices.size(); ++i) EXPECT_EQ(devices[i], i);
}

TEST_P(Picture, SvgIsWellFormedAndJoinsEachGpuToADevice) {
  const Scene drawn = scene();
  std::ostringstream out;
  write_svg(drawn, out);
  // NCCL's reader takes a part of XML only, and the drawing is within it but for line breaks.
  const topology::XmlDocument document = topology::read_nccl_xml([&] {
    std::string tags;
    bool inside = false;
    for (const char c : out.str()) {
      inside = c == '<' || inside;
      if (inside) tags += c == '\n' ? ' ' : c;
      inside = inside && c != '>';
    }
    return tags;
  }());
  ASSERT_FALSE(document.stop) << document.stop->text;
  const auto lines = std::ranges::count(document.elements, "path", &topology::XmlElement::name);
  const auto served =
      std::ranges::count_if(drawn.gpus, [](const ShownGpu& g) { return g.device >= 0; });
  EXPECT_EQ(lines, served + 2) << "two more for the legend";
}

INSTANTIATE_TEST_SUITE_P(Golden, Picture, ::testing::ValuesIn(topology::testing::golden_scenes()),
                         [](const auto& scene) {
                           std::string name = scene.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Topo, ColorsAreOnlyWhereAskedFor) {
  const Options plain = {.from = data_file("p5.48xlarge")};
  Options colored = plain;
  colored.color = true;
  EXPECT_EQ(run_topo(plain).out.find('\033'), std::string::npos);
  EXPECT_NE(run_topo(colored).out.find('\033'), std::string::npos);
}

TEST(Topo, JsonHasWhatThePictureShows) {
  const Outcome outcome = run_topo({.from = data_file("p5en.48xlarge"), .json = true});
  EXPECT_EQ(outcome.code, 0);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["instance"], "p5en.48xlarge");
  ASSERT_EQ(json["gpus"].size(), 8U);
  ASSERT_EQ(json["devices"].size(), 8U);
  EXPECT_EQ(json["gpus"][3]["device"], 3);
  EXPECT_EQ(json["gpus"][3]["gpudirect"], true);
  EXPECT_EQ(json["devices"][3]["rails"].size(), 2U);
  EXPECT_EQ(json["devices"][3]["speed_mbps"], 400000);
  EXPECT_EQ(json["environment"]["NCCL_NETDEVS_POLICY"], "max:1");
  EXPECT_FALSE(json["nccl_xml"].get<std::string>().empty());
}

TEST(Topo, NcclXmlGoesToOutputAndItsAbsenceToErrors) {
  const Outcome with = run_topo({.from = data_file("p4d.24xlarge"), .nccl_xml = true});
  EXPECT_EQ(with.out.substr(0, 20), "<system version=\"1\">");
  EXPECT_EQ(with.err, "");
  const Outcome without = run_topo({.from = data_file("p3dn.24xlarge"), .nccl_xml = true});
  EXPECT_EQ(without.out, "");
  EXPECT_NE(without.err.find("no topology file"), std::string::npos);
}

TEST(Topo, TheInstanceCanBeForced) {
  const Outcome outcome = run_topo({.from = data_file("p5.48xlarge"), .instance = "p5e.48xlarge"});
  EXPECT_NE(outcome.out.find("p5e.48xlarge (FABRAIL_INSTANCE says so)"), std::string::npos);
}

TEST(Topo, SvgGoesToItsFile) {
  const std::string file = temporary_file("p5.svg", "");
  EXPECT_EQ(run_topo({.from = data_file("p5.48xlarge"), .svg = file}).code, 0);
  std::ifstream stream(file);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  EXPECT_EQ(text.substr(0, 4), "<svg");
  EXPECT_NE(text.find("rdmap79s0"), std::string::npos);
}

TEST(Topo, FilesThatCannotBeReadOrWrittenAreErrors) {
  const std::string p5 = data_file("p5.48xlarge");
  for (const Options& options :
       {Options{.from = "/nonexistent.xml"}, Options{.from = p5, .lint = "/nonexistent.xml"},
        Options{.from = p5, .svg = "/nonexistent/drawing.svg"}}) {
    const Outcome outcome = run_topo(options);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("/nonexistent"), std::string::npos);
  }
}

TEST(Topo, LintFailsOnErrorsOnly) {
  const std::string p5 = data_file("p5.48xlarge");
  const std::string narrow = temporary_file("narrow.xml",
                                            "<system version=\"1\">\n<pci busid=\"0000:4f:00.0\" "
                                            "class=\"0x020000\" link_speed=\"16 GT/s\" "
                                            "link_width=\"8\"/>\n</system>\n");
  const Outcome warned = run_topo({.from = p5, .lint = narrow});
  EXPECT_EQ(warned.code, 0);
  EXPECT_NE(warned.out.find(":2: warning: the link of rdmap79s0"), std::string::npos) << warned.out;
  const Outcome failed = run_topo(
      {.from = p5, .lint = temporary_file("wrong.xml", "<system version=\"2\"></system>")});
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.out.find(":1: error: "), std::string::npos) << failed.out;
}

TEST(Topo, AMachineWithoutNicsIsShown) {
  std::ostringstream out;
  const Scene empty = make_scene({}, {}, "/nonexistent");
  draw_picture(empty, false, out);
  write_svg(empty, out);
  EXPECT_NE(out.str().find("no NCCL device"), std::string::npos);
}

}  // namespace
}  // namespace fabrail::cli::topo
