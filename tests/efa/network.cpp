// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Drives fabrail-sim, and reads the emulated counters as any program would.
#include "tests/efa/network.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fabrail::efa {
namespace {

std::string directory() {
  const char* const path = std::getenv("FABRAIL_SIM_DIR");
  return path != nullptr ? path : "";
}

std::string sysfs_of(int node) { return directory() + "/node-" + std::to_string(node) + "/sys"; }

uint64_t hw_counter(int node, const std::string& nic, const char* name) {
  uint64_t value = 0;
  std::ifstream file(sysfs_of(node) + "/class/infiniband/" + nic + "/ports/1/hw_counters/" + name);
  file >> value;
  EXPECT_TRUE(file) << "no counter " << name << " of " << nic;
  return value;
}

}  // namespace

std::string sim(const std::string& arguments) {
  const std::string command = std::string(FABRAIL_SIM) + " " + arguments;
  std::FILE* const pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) {
    ADD_FAILURE() << "cannot start " << command;
    return {};
  }
  std::string output;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) output += part.data();
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

conformance::Environment on_node(int node) {
  return {"FABRAIL_SIM_NODE=" + std::to_string(node), "SYSFS_PATH=" + sysfs_of(node)};
}

std::vector<Sent> sent_by(int node) {
  std::vector<Sent> all;
  std::istringstream lines(sim("load"));
  std::string line;
  std::getline(lines, line);  // the titles
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    int of_node = -1;
    int index = -1;
    std::string name;
    Sent sent;
    words >> of_node >> index >> name >> sent.busy_us >> sent.idle_us;
    if (of_node != node) continue;
    for (const char* const way : {"rdma_write_bytes", "rdma_read_resp_bytes", "send_bytes"})
      sent.payload_bytes += hw_counter(node, name, way);
    all.push_back(sent);
  }
  return all;
}

}  // namespace fabrail::efa
