// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The emulated NVML is opened as its users do, by name.
#include <dlfcn.h>

#include <cstring>

#include "tests/sim/gpu/tests/fresh_process.h"

namespace emugpu {
namespace {

template <typename... Arguments>
int call(const char* name, Arguments... arguments) {
  void* library = dlopen(EMUGPU_NVML, RTLD_NOW);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return -1;
  auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  EXPECT_NE(function, nullptr) << name;
  return function == nullptr ? -1 : function(arguments...);
}

TEST(Nvml, ShowsTheDevicesOfTheDriver) {
  in_fresh_process({{"EMUGPU_PCI", "0000:53:00.0,0001:64:01.0"}, {"EMUGPU_CC", "8.0"}}, [] {
    unsigned count = 0;
    EXPECT_EQ(call("nvmlInit_v2"), 0);
    EXPECT_EQ(call("nvmlDeviceGetCount_v2", &count), 0);
    EXPECT_EQ(count, 2U);
    void* device = nullptr;
    ASSERT_EQ(call("nvmlDeviceGetHandleByPciBusId", "0001:64:01.0", &device), 0);
    unsigned index = 0;
    EXPECT_EQ(call("nvmlDeviceGetIndex", device, &index), 0);
    EXPECT_EQ(index, 1U);
    int major = 0;
    int minor = 0;
    EXPECT_EQ(call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor), 0);
    EXPECT_EQ(major * 10 + minor, 80);
    constexpr int kNotFound = 6;
    EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId", "0002:64:01.0", &device), kNotFound);
  });
}

}  // namespace
}  // namespace emugpu
