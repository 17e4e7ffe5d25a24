// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Allocation, what the CPU may touch, and what the driver tells about a pointer.
#include <cstring>
#include <vector>

#include "tests/sim/gpu/emugpu.h"
#include "tests/sim/gpu/tests/fresh_process.h"

namespace emugpu {
namespace {

constexpr std::size_t kBig = 3 << 20;

TEST(DeviceMemory, CannotBeReadByTheCpuAtItsAddress) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr big = allocate(kBig);
    EXPECT_FALSE(readable(pointer(big)));
    EXPECT_FALSE(readable(pointer(big + kBig - 1)));
    EXPECT_FALSE(readable(pointer(allocate(100))));
  });
}

TEST(DeviceMemory, IsReadThroughItsAliasUntilFreed) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr address = allocate(kBig);
    auto* alias = static_cast<char*>(emugpu_alias(pointer(address), kBig));
    ASSERT_NE(alias, nullptr);
    ASSERT_EQ(cuMemsetD8(address + 5, 0x5a, 1), CUDA_SUCCESS);
    EXPECT_EQ(alias[5], 0x5a);
    ASSERT_EQ(cuMemFree(address), CUDA_SUCCESS);
    EXPECT_FALSE(readable(alias));
    EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST(DeviceMemory, SmallAllocationsShareAPage) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr first = allocate(100);
    const CUdeviceptr second = allocate(100);
    EXPECT_EQ(second - first, 512u);
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    ASSERT_EQ(cuMemGetAddressRange(&base, &bytes, second + 99), CUDA_SUCCESS);
    EXPECT_EQ(base, second);
    EXPECT_EQ(bytes, 100u);
    EXPECT_EQ(cuMemGetAddressRange(&base, &bytes, second + 100), CUDA_ERROR_NOT_FOUND);
  });
}

TEST(DeviceMemory, RunsOutWhenTheDeviceIsFull) {
  in_fresh_process({{"EMUGPU_MEMORY_BYTES", "0x800000"}}, [] {
    bind_device(0);
    const CUdeviceptr address = allocate(6 << 20);
    CUdeviceptr more = 0;
    EXPECT_EQ(cuMemAlloc(&more, 4 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    ASSERT_EQ(cuMemFree(address), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&more, 4 << 20), CUDA_SUCCESS);
  });
}

TEST(DeviceMemory, AliasIsRefusedForWhatANicCannotPin) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr address = allocate(kBig);
    int local = 0;
    EXPECT_EQ(emugpu_alias(pointer(address), kBig + 4096), nullptr);
    EXPECT_EQ(emugpu_alias(pointer(address + (4 << 20)), 1), nullptr);
    EXPECT_EQ(emugpu_alias(&local, sizeof local), nullptr);
  });
}

TEST(DeviceMemory, AliasIsRefusedWithoutPeerMemory) {
  for (const char* setting : {"EMUGPU_GPUDIRECT", "EMUGPU_PEER_MEMORY"}) {
    in_fresh_process({{setting, "0"}}, [] {
      bind_device(0);
      EXPECT_EQ(emugpu_alias(pointer(allocate(kBig)), 1), nullptr);
    });
  }
}

TEST(DeviceMemory, RegistrationFaultStrikesFromTheGivenOccasion) {
  in_fresh_process({{"EMUGPU_FAULTS", "register@2"}}, [] {
    bind_device(0);
    const CUdeviceptr address = allocate(kBig);
    EXPECT_NE(emugpu_alias(pointer(address), 1), nullptr);
    EXPECT_EQ(emugpu_alias(pointer(address), 1), nullptr);
  });
}

TEST(PointerAttributes, TellDeviceFromHostMemory) {
  in_fresh_process({{"EMUGPU_COUNT", "2"}}, [] {
    bind_device(1);
    const CUdeviceptr address = allocate(kBig);
    unsigned type = 0;
    EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 1),
              CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
    int ordinal = -1;
    EXPECT_EQ(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address),
              CUDA_SUCCESS);
    EXPECT_EQ(ordinal, 1);
    void* host = nullptr;
    ASSERT_EQ(cuMemHostAlloc(&host, 64, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device_pointer(host)),
              CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
    EXPECT_EQ(cuMemFreeHost(host), CUDA_SUCCESS);
  });
}

TEST(PointerAttributes, OfUnknownMemoryAreAnErrorInTheSingularOnly) {
  in_fresh_process({}, [] {
    bind_device(0);
    int local = 0;
    unsigned type = 7;
    int ordinal = 7;
    EXPECT_EQ(
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device_pointer(&local)),
        CUDA_ERROR_INVALID_VALUE);
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* out[] = {&type, &ordinal};
    EXPECT_EQ(cuPointerGetAttributes(2, which, out, device_pointer(&local)), CUDA_SUCCESS);
    EXPECT_EQ(type, 0u);
    EXPECT_EQ(ordinal, -2);
  });
}

TEST(HostMemory, IsRegisteredOnce) {
  in_fresh_process({}, [] {
    bind_device(0);
    std::vector<char> buffer(8192);
    ASSERT_EQ(cuMemHostRegister(buffer.data(), buffer.size(), 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemHostRegister(buffer.data(), buffer.size(), 0),
              CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ASSERT_EQ(cuMemHostUnregister(buffer.data()), CUDA_SUCCESS);
    EXPECT_EQ(cuMemHostUnregister(buffer.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

}  // namespace
}  // namespace emugpu
