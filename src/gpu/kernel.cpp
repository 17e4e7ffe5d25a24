// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/gpu/kernel.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <utility>

namespace fabrail::gpu {

namespace {

constexpr std::array kModules = {"efa_nv_peermem", "nvidia_peermem", "nv_peer_mem"};
constexpr std::pair kFirstWithDmabuf{5, 12};

bool has_dmabuf(const std::string& root) {
  std::string release;
  std::ifstream(root + "/proc/sys/kernel/osrelease") >> release;
  int major = 0;
  int minor = 0;
  // NOLINTNEXTLINE(cert-err34-c): what cannot be read leaves zeros
  if (std::sscanf(release.c_str(), "%d.%d", &major, &minor) != 2) return false;
  return std::pair{major, minor} >= kFirstWithDmabuf;
}

}  // namespace

KernelFacts read_kernel_facts(const std::string& root) {
  KernelFacts facts;
  facts.dmabuf = has_dmabuf(root);
  for (const char* module : kModules) {
    const std::string folder = root + "/sys/module/" + module;
    if (access(folder.c_str(), F_OK) != 0) continue;
    facts.peer_memory = module;
    break;
  }
  return facts;
}

}  // namespace fabrail::gpu
