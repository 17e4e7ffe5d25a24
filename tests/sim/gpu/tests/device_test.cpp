// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Devices, attributes, contexts and lookup by name.
#include <cstring>
#include <thread>

#include "tests/sim/gpu/emugpu.h"
#include "tests/sim/gpu/tests/fresh_process.h"

namespace emugpu {
namespace {

int attribute(CUdevice_attribute which, CUdevice device = 0) {
  int value = -1;
  EXPECT_EQ(cuDeviceGetAttribute(&value, which, device), CUDA_SUCCESS);
  return value;
}

TEST(EmulatedDevice, CountAndBusIdsComeFromTheEnvironment) {
  in_fresh_process({{"EMUGPU_PCI", "0000:53:00.0,0001:64:01.0"}}, [] {
    int count = 0;
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 2);
    char text[16];
    ASSERT_EQ(cuDeviceGetPCIBusId(text, sizeof text, 1), CUDA_SUCCESS);
    EXPECT_STREQ(text, "0001:64:01.0");
    CUdevice device = -1;
    ASSERT_EQ(cuDeviceGetByPCIBusId(&device, text), CUDA_SUCCESS);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1), 0x64);
    EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "0002:01:00.0"), CUDA_ERROR_INVALID_DEVICE);
  });
}

TEST(EmulatedDevice, AttributesComeFromTheEnvironment) {
  in_fresh_process({{"EMUGPU_CC", "8.6"},
                    {"EMUGPU_GPUDIRECT", "0"},
                    {"EMUGPU_DMABUF", "0"},
                    {"EMUGPU_FLUSH_OPTIONS", "3"},
                    {"EMUGPU_WRITES_ORDERING", "100"}},
                   [] {
                     EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
                     EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 6);
                     EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED), 0);
                     EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED), 0);
                     EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS),
                               3);
                     EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING), 100);
                   });
}

TEST(EmulatedDevice, EndsTheProgramOnASettingThatItCannotRead) {
  EXPECT_DEATH(
      {
        setenv("EMUGPU_PCI", "here", 1);
        cuInit(0);
      },
      "EMUGPU_PCI=here: want domain:bus:device.function");
}

TEST(EmulatedDevice, InitFailsWithoutDevices) {
  in_fresh_process({{"EMUGPU_COUNT", "0"}}, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); });
  in_fresh_process({{"EMUGPU_FAULTS", "init"}}, [] { EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE); });
}

TEST(EmulatedContext, BelongsToTheThreadThatBoundIt) {
  in_fresh_process({}, [] {
    bind_device(0);
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, 64), CUDA_SUCCESS);
    std::thread([&] {
      CUcontext current = nullptr;
      EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
      EXPECT_EQ(current, nullptr);
      CUdeviceptr base = 0;
      EXPECT_EQ(cuMemGetAddressRange(&base, nullptr, address), CUDA_ERROR_INVALID_CONTEXT);
      EXPECT_EQ(cuMemAlloc(&base, 64), CUDA_ERROR_INVALID_CONTEXT);
    }).join();
  });
}

TEST(EmulatedContext, PushAndPopKeepAStack) {
  in_fresh_process({{"EMUGPU_COUNT", "2"}}, [] {
    bind_device(0);
    CUcontext second = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent(second), CUDA_SUCCESS);
    CUdevice device = -1;
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, 1);
    CUcontext popped = nullptr;
    ASSERT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    EXPECT_EQ(popped, second);
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, 0);
  });
}

TEST(EmulatedContext, FaultHidesABoundContext) {
  in_fresh_process({}, [] {
    bind_device(0);
    ASSERT_EQ(emugpu_set_faults("context"), 0);
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, 64), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST(EmulatedDriver, FindsFunctionsByNameAndVersion) {
  in_fresh_process({}, [] {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status;
    ASSERT_EQ(cuGetProcAddress("cuMemGetHandleForAddressRange", &found, 11070, 0, &status),
              CUDA_SUCCESS);
    EXPECT_EQ(found, reinterpret_cast<void*>(&cuMemGetHandleForAddressRange));
    ASSERT_EQ(cuGetProcAddress("cuMemGetHandleForAddressRange", &found, 11060, 0, &status),
              CUDA_SUCCESS);
    EXPECT_EQ(found, nullptr);
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    ASSERT_EQ(cuGetProcAddress("cuNothing", &found, 12000, 0, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  });
}

TEST(EmulatedDriver, RefusesAFaultThatItDoesNotKnow) {
  in_fresh_process({}, [] {
    EXPECT_EQ(emugpu_set_faults("export@0"), -1);
    EXPECT_EQ(emugpu_set_faults("nonsense"), -1);
    EXPECT_EQ(emugpu_set_faults("export@2,flush"), 0);
    EXPECT_EQ(emugpu_set_faults(""), 0);
  });
}

}  // namespace
}  // namespace emugpu
