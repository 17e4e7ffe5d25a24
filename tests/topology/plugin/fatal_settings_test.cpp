// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Variables for which libfabric's own EFA provider ends the process, under the plugin on emulated
// NICs: it lives, has its devices, can open their endpoints, and has warned of the variable where
// this libfabric minds it. FABRAIL_TEST_READS=1 says that the NICs read by RDMA.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rdma/fabric.h>

#include <cstdlib>
#include <ostream>

#include "tests/topology/plugin/run_probe.h"

namespace fabrail::topology::testing {
namespace {

constexpr std::uint32_t kNever = UINT32_MAX;

std::uint32_t libfabric_version() {
  void* library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;
  const auto version = reinterpret_cast<decltype(&fi_version)>(dlsym(library, "fi_version"));
  return version == nullptr ? 0 : version();
}

bool nics_read() {
  const char* reads = std::getenv("FABRAIL_TEST_READS");
  return reads != nullptr && std::string(reads) == "1";
}

struct Case {
  const char* name;
  const char* value;
  std::uint32_t since;  ///< fatal from this version of libfabric
  std::uint32_t until;  ///< to the one before this
  enum class Nics : std::uint8_t { kAny, kThatDoNotRead } nics = Nics::kAny;
  Variables others = {};

  [[nodiscard]] bool fatal_here() const {
    const std::uint32_t version = libfabric_version();
    return version >= since && version < until && (nics == Nics::kAny || !nics_read());
  }
};

void PrintTo(const Case& setting, std::ostream* stream) {
  *stream << setting.name << "=" << setting.value;
}

class FatalSettings : public ::testing::TestWithParam<Case> {};

TEST_P(FatalSettings, DoNotEndTheProcess) {
  const Case& setting = GetParam();
  Variables variables = setting.others;
  variables.emplace_back(setting.name, setting.value);
  const Seen seen = run_probe(variables, "listen");
  EXPECT_EQ(seen.status, 0);
  EXPECT_EQ(seen.devices.size(), 1u);
  EXPECT_EQ(seen.listen, 0);
  const std::string said = std::string(setting.name) + "=" + setting.value + " is ignored here";
  EXPECT_EQ(any_has(seen.warnings, said), setting.fatal_here());
  EXPECT_EQ(value_of(seen, setting.name), setting.fatal_here() ? "" : setting.value);
}

const Case kCases[] = {
    {"FI_EFA_MTU_SIZE", "8928", FI_VERSION(1, 18), kNever},
    {"FI_EFA_TX_IOV_LIMIT", "4", FI_VERSION(1, 19), kNever},
    {"FI_EFA_RX_IOV_LIMIT", "4", FI_VERSION(1, 19), kNever},
    {"FI_EFA_SHM_MAX_MEDIUM_SIZE", "4096", 0, FI_VERSION(1, 20)},
    {"FI_EFA_TX_MIN_CREDITS", "0", FI_VERSION(1, 18), kNever},
    {"FI_EFA_RECVWIN_SIZE", "3", 0, FI_VERSION(2, 0)},
    {"FI_EFA_IFACE", "", FI_VERSION(2, 0), kNever},
    {"FI_EFA_USE_DEVICE_RDMA", "1", 0, kNever, Case::Nics::kThatDoNotRead},
    {"FI_EFA_USE_DEVICE_RDMA", "maybe", FI_VERSION(1, 18), kNever},
    {"FI_EFA_USE_HUGE_PAGE",
     "1",
     FI_VERSION(1, 19),
     kNever,
     Case::Nics::kAny,
     {{"FI_EFA_FORK_SAFE", "1"}, {"FABRAIL_SIM_OLD_KERNEL", "1"}}},
    {"FI_EFA_USE_HUGE_PAGE", "1", kNever, kNever, Case::Nics::kAny, {{"FI_EFA_FORK_SAFE", "1"}}},
};

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::string(info.param.name + sizeof "FI_EFA_" - 1) + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Each, FatalSettings, ::testing::ValuesIn(kCases), name_of);

}  // namespace
}  // namespace fabrail::topology::testing
