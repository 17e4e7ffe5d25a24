// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/topology/plugin/run_probe.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/topology/temporary.h"

namespace fabrail::topology::testing {

namespace {

int depth_change(const std::string& line) {
  if (line.find("</object>") != std::string::npos) return -1;
  return line.find("<object") != std::string::npos && line.find("/>") == std::string::npos ? 1 : 0;
}

bool is_hidden(const std::string& line, const std::vector<std::string>& hidden) {
  return line.find("type=\"PCIDev\"") != std::string::npos &&
         std::ranges::any_of(hidden, [&](const std::string& address) {
           return line.find("pci_busid=\"" + address + "\"") != std::string::npos;
         });
}

SeenDevice read_device(const std::string& line) {
  std::istringstream stream(line);
  SeenDevice device;
  std::string word;
  stream >> word >> device.name >> device.speed_mbps >> device.latency_us >> device.port >>
      device.rail_id >> device.plane_id >> device.guid >> device.pci_path;
  return device;
}

void read_line(const std::string& line, Seen& seen) {
  if (line.starts_with("info ")) seen.info.push_back(line.substr(5));
  if (line.starts_with("warn ")) seen.warnings.push_back(line.substr(5));
  if (line.starts_with("device ")) seen.devices.push_back(read_device(line));
  if (line.starts_with("refused "))
    std::istringstream(line.substr(8)) >> seen.refused >> seen.result;
  if (line.starts_with("listen ")) seen.listen = std::atoi(line.c_str() + 7);
  if (line.starts_with("cpu ")) seen.cpu_ms = std::strtod(line.c_str() + 4, nullptr);
  if (line.starts_with("env ")) seen.environment.push_back(line.substr(4));
}

std::string output_of(const std::string& command, int& status) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t bytes = 0; (bytes = fread(part.data(), 1, part.size(), pipe)) > 0;) {
    text.append(part.data(), bytes);
  }
  status = pclose(pipe);
  return text;
}

}  // namespace

std::string xml_file_of(const Scene& scene) {
  std::ifstream whole(data_file(scene.machine));
  EXPECT_TRUE(whole) << scene.machine;
  std::string part;
  int depth = 0;  // within an object that is left out
  for (std::string line; std::getline(whole, line);) {
    const bool inside = depth > 0;
    if (inside || is_hidden(line, scene.hidden)) depth += depth_change(line);
    if (!inside && depth == 0) part += line + "\n";
  }
  EXPECT_EQ(depth, 0) << "the parts of " << scene.machine << " are not on lines of their own";
  static int number = 0;
  return temporary_file("machine-" + std::to_string(number++) + ".xml", part);
}

Variables variables_of(const Scene& scene) {
  std::string list;
  for (const Nic& nic : nics_of(scene, machine_of(scene))) {
    const std::string name = nic.name.substr(0, nic.name.find("-rdm"));
    list += name + "@" + to_text(*nic.pci) + "@" + std::to_string(nic.speed_mbps) + ",";
  }
  Variables variables = {{"HWLOC_XMLFILE", xml_file_of(scene)},
                         {"FABRAIL_LIBFABRIC", FABRAIL_TEST_LIBFABRIC},
                         {"FABRAIL_TEST_NICS", list}};
  if (!scene.settings.instance.empty()) {
    variables.emplace_back("FABRAIL_INSTANCE", scene.settings.instance);
  }
  if (scene.settings.max_rails > 0) {
    variables.emplace_back("FABRAIL_MAX_RAILS", std::to_string(scene.settings.max_rails));
  }
  return variables;
}

Seen run_probe(const Variables& variables, const std::string& words) {
  std::string command = "env -u NCCL_TOPO_FILE -u NCCL_BUFFSIZE";
  for (const auto& [name, value] : variables) command.append(" '" + name + "=" + value + "'");
  command += std::string(" '") + FABRAIL_TEST_PROBE + "' '" + FABRAIL_TEST_PLUGIN + "' " + words;
  Seen seen;
  std::istringstream lines(output_of(command, seen.status));
  for (std::string line; std::getline(lines, line);) {
    if (line == "file") {
      seen.file.assign(std::istreambuf_iterator<char>(lines), {});
    } else {
      read_line(line, seen);
    }
  }
  return seen;
}

std::string value_of(const Seen& seen, const std::string& variable) {
  for (const std::string& entry : seen.environment) {
    if (entry.starts_with(variable + "=")) return entry.substr(variable.size() + 1);
  }
  return {};
}

bool any_has(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

}  // namespace fabrail::topology::testing
