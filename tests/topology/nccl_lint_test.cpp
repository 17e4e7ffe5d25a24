// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/nccl_lint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "topology/xml_reader.h"

namespace fabrail::topology {
namespace {

const VisibleDevices kDevices = {.gpus = {{0, 0x53, 0, 0}},
                                 .nets = {{.name = "rdmap79s0-rdm",
                                           .pci = {0, 0x4f, 0, 0},
                                           .speed_mbps = 400000,
                                           .gpu_gbytes_per_s = 48}}};

struct Row {
  const char* name;
  const char* xml;
  Severity severity;
  int line;
  const char* says;
};

// Each file has one thing wrong.
const Row kRows[] = {
    {"declaration", "<?xml version=\"1.0\"?>\n<system version=\"1\"></system>", Severity::kError, 1,
     "declarations"},
    {"doctype", "<!DOCTYPE x>\n<system version=\"1\"></system>", Severity::kError, 1,
     "declarations"},
    {"tab", "<system version=\"1\">\n\t</system>", Severity::kError, 2, "tab"},
    {"line end within a tag", "<system\nversion=\"1\"></system>", Severity::kError, 1, "line end"},
    {"text", "<system version=\"1\">\n\nabc</system>", Severity::kError, 3, "text"},
    {"unclosed", "<system version=\"1\">", Severity::kError, 1, "not closed"},
    {"crossed", "<system version=\"1\"><cpu numaid=\"0\" host_hash=\"1\"></system></cpu>",
     Severity::kError, 1, "</system>"},
    {"unquoted", "<system version=1></system>", Severity::kError, 1, "not quoted"},
    {"endless value", "<system version=\"1></system>", Severity::kError, 1, "without an end"},
    {"endless comment", "<!-- <system version=\"1\"></system>", Severity::kError, 1, "comment"},
    {"lone end", "<system version=\"1\"></system></cpu>", Severity::kError, 1, "</cpu>"},
    {"another format", "<graphs version=\"1\"></graphs>", Severity::kError, 0, "<system>"},
    {"wrong version", "<system version=\"2\"></system>", Severity::kError, 1, "version"},
    {"no version", "<system></system>", Severity::kError, 1, "version"},
    {"cpu without a number", "<system version=\"1\"><cpu host_hash=\"1\"/></system>",
     Severity::kError, 1, "numaid"},
    {"cpu without arch",
     "<system version=\"1\">\n<cpu numaid=\"0\" host_hash=\"1\"><nic>"
     "<net name=\"rdmap79s0-rdm\" dev=\"0\"/></nic></cpu></system>",
     Severity::kError, 2, "Attribute arch of node cpu not found"},
    {"cpu without hash", "<system version=\"1\"><cpu numaid=\"0\"/></system>", Severity::kNote, 1,
     "host_hash"},
    {"pci without an address", "<system version=\"1\"><pci class=\"0x060400\"/></system>",
     Severity::kError, 1, "busid"},
    {"bad address", "<system version=\"1\"><pci busid=\"here\"/></system>", Severity::kError, 1,
     "no PCI address"},
    {"upper case", "<system version=\"1\"><pci busid=\"0000:4F:00.0\"/></system>",
     Severity::kWarning, 1, "0000:4f:00.0"},
    {"hidden GPU",
     "<system version=\"1\"><pci busid=\"0000:64:00.0\" class=\"0x030200\"/></system>",
     Severity::kWarning, 1, "GPU 0000:64:00.0"},
    {"hidden GPU by its element",
     "<system version=\"1\"><pci busid=\"0000:64:00.0\"><gpu dev=\"1\"/></pci></system>",
     Severity::kWarning, 1, "GPU 0000:64:00.0"},
    {"hidden NIC",
     "<system version=\"1\"><pci busid=\"0000:60:00.0\" class=\"0x020000\"/></system>",
     Severity::kWarning, 1, "NIC 0000:60:00.0"},
    {"invented without class", "<system version=\"1\"><pci busid=\"ffff:00:01.0\"/></system>",
     Severity::kError, 1, "no class"},
    {"narrow link",
     "<system version=\"1\"><pci busid=\"0000:4f:00.0\" class=\"0x020000\" link_speed=\"16 GT/s\" "
     "link_width=\"8\"/></system>",
     Severity::kWarning, 1, "96 of its 400 Gb/s"},
    {"net of another name", "<system version=\"1\"><net name=\"mlx5_0\" dev=\"0\"/></system>",
     Severity::kWarning, 1, "mlx5_0"},
    {"net without dev", "<system version=\"1\"><net name=\"rdmap79s0-rdm\"/></system>",
     Severity::kNote, 1, "without dev"},
    {"unknown element", "<system version=\"1\"><disk/></system>", Severity::kNote, 1, "<disk>"},
};

TEST(NcclLint, FindsEachThingThatIsWrong) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const std::vector<Finding> findings = lint_nccl_xml(row.xml, kDevices);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].severity, row.severity);
    EXPECT_EQ(findings[0].line, row.line);
    EXPECT_NE(findings[0].text.find(row.says), std::string::npos) << findings[0].text;
  }
}

TEST(NcclLint, ACompleteFileForVisibleDevicesIsFine) {
  const auto findings = lint_nccl_xml(
      "<!-- by hand -->\n"
      "<system version=\"1\">\n"
      "  <cpu numaid=\"0\" host_hash=\"0x1\" arch=\"x86_64\">\n"
      "    <pci busid=\"ffff:00:01.0\" class=\"0x060400\">\n"
      "      <pci busid=\"0000:53:00.0\" class=\"0x030200\"><gpu dev=\"0\"/></pci>\n"
      "      <pci busid=\"0000:4f:00.0\" class=\"0x020000\" link_speed=\"32.0 GT/s PCIe\" "
      "link_width=\"16\" >\n"
      "        <nic><net name='rdmap79s0-rdm' dev=\"0\"/></nic>\n"
      "      </pci>\n"
      "    </pci>\n"
      "  </cpu>\n"
      "</system>\n",
      kDevices);
  EXPECT_TRUE(findings.empty()) << findings[0].text;
}

std::string system_of(std::size_t children) {
  std::string text = "<system version=\"1\">\n";
  for (std::size_t i = 0; i < children; ++i) text += "<pci busid=\"0000:4f:00.0\"/>\n";
  return text + "</system>\n";
}

TEST(NcclLint, KnowsTheLimitsOfNcclsReader) {
  EXPECT_TRUE(lint_nccl_xml(system_of(32), kDevices).empty());
  EXPECT_EQ(lint_nccl_xml(system_of(33), kDevices).at(0).severity, Severity::kNote);
  EXPECT_EQ(lint_nccl_xml(system_of(129), kDevices).at(0).severity, Severity::kError);
  EXPECT_EQ(lint_nccl_xml(system_of(256), kDevices).size(), 2U);
  EXPECT_NE(lint_nccl_xml(system_of(5000), kDevices).back().text.find("too many"),
            std::string::npos);
}

TEST(NcclLint, KnowsTheLengthsOfNcclsStrings) {
  const auto with_value = [](std::size_t length) {
    return "<system version=\"1\" note=\"" + std::string(length, 'x') + "\"></system>";
  };
  EXPECT_TRUE(lint_nccl_xml(with_value(253), kDevices).empty());
  EXPECT_EQ(lint_nccl_xml(with_value(254), kDevices).size(), 1U);
}

TEST(NcclLint, ExtraAttributesAreNotRead) {
  std::string text = "<system version=\"1\"";
  for (int i = 0; i < 16; ++i) text += " a" + std::to_string(i) + "=\"\"";
  const auto findings = lint_nccl_xml(text + "></system>", kDevices);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
}

TEST(NcclXmlReader, KeepsOrderLinesAndParents) {
  const XmlDocument document = read_nccl_xml("<a>\n<b x=\"1\" y='2'/>\n<c><d/></c></a>\n");
  ASSERT_FALSE(document.stop);
  ASSERT_EQ(document.elements.size(), 4U);
  EXPECT_EQ(document.elements[1].line, 2);
  EXPECT_EQ(*document.elements[1].find("y"), "2");
  EXPECT_EQ(document.elements[1].find("z"), nullptr);
  EXPECT_EQ(document.elements[3].parent, 2);
  EXPECT_EQ(document.elements[0].children, 2U);
}

}  // namespace
}  // namespace fabrail::topology
