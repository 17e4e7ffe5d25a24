// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The driver over the emulated one: opening, facts, contexts, flush.
#include "src/gpu/driver.h"

#include <thread>

#include "src/gpu/context.h"
#include "tests/gpu/emulated.h"

namespace fabrail::gpu {
namespace {

constexpr const char* kLong = "100000000";  // milliseconds: longer than any test runs

CUcontext current() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

CUcontext primary(int device) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
  return context;
}

bool primary_active(int device) {
  unsigned flags = 0;
  int active = 0;
  EXPECT_EQ(cuDevicePrimaryCtxGetState(device, &flags, &active), CUDA_SUCCESS);
  return active != 0;
}

TEST(GpuDriver, TellsWhatADeviceCanDo) {
  in_fresh_process({{"EMUGPU_PCI", "0000:53:00.0,0001:64:00.0"},
                    {"EMUGPU_CC", "8.6"},
                    {"EMUGPU_FLUSH_OPTIONS", "2"},
                    {"EMUGPU_WRITES_ORDERING", "100"}},
                   [] {
                     const Driver driver = open_driver();
                     EXPECT_EQ(driver.version(), 12040);
                     ASSERT_EQ(driver.device_count().value(), 2);
                     const DeviceFacts facts = driver.device(1).value();
                     EXPECT_EQ(facts.pci_address, "0001:64:00.0");
                     EXPECT_EQ(facts.compute_major, 8);
                     EXPECT_EQ(facts.compute_minor, 6);
                     EXPECT_TRUE(facts.gpudirect);
                     EXPECT_TRUE(facts.dmabuf);
                     EXPECT_FALSE(facts.flush_by_host);
                     EXPECT_TRUE(facts.orders_writes);
                   });
}

TEST(GpuDriver, TellsWhatADeviceCannotDo) {
  in_fresh_process({{"EMUGPU_GPUDIRECT", "0"}, {"EMUGPU_DMABUF", "0"}}, [] {
    const DeviceFacts facts = open_driver().device(0).value();
    EXPECT_FALSE(facts.gpudirect);
    EXPECT_FALSE(facts.dmabuf);
    EXPECT_TRUE(facts.flush_by_host);
    EXPECT_FALSE(facts.orders_writes);
  });
}

TEST(GpuDriver, RefusesADeviceThatIsNotThere) {
  in_fresh_process({}, [] {
    const auto facts = open_driver().device(5);
    ASSERT_FALSE(facts.ok());
    expect_parts(facts.error(), {"cuDeviceGetAttribute failed with 101 (CUDA_ERROR_INVALID_DEVICE)",
                                 "device 5", "no such device"});
  });
}

TEST(GpuDriver, SaysThatNoGpuIsVisible) {
  in_fresh_process({{"EMUGPU_FAULTS", "init"}}, [] {
    const auto driver = Driver::open();
    ASSERT_FALSE(driver.ok());
    EXPECT_EQ(driver.error().code, Code::kUnsupported);
    expect_parts(driver.error(), {"cuInit failed with 100 (CUDA_ERROR_NO_DEVICE)",
                                  "CUDA_VISIBLE_DEVICES", "libcuda.so.1"});
  });
}

TEST(GpuDriver, RefusesOneThatIsTooOld) {
  in_fresh_process({{"EMUGPU_DRIVER_VERSION", "11020"}}, [] {
    const auto driver = Driver::open();
    ASSERT_FALSE(driver.ok());
    EXPECT_EQ(driver.error().code, Code::kUnsupported);
    expect_parts(driver.error(), {"is of CUDA 11.2", "from CUDA 11.3 on", "Update"});
  });
}

TEST(GpuDriver, WorksWithoutDmabufBeforeCuda117) {
  in_fresh_process({{"EMUGPU_DRIVER_VERSION", "11060"}}, [] {
    const DeviceFacts facts = open_driver().device(0).value();
    EXPECT_TRUE(facts.gpudirect);
    EXPECT_FALSE(facts.dmabuf);
  });
}

TEST(ContextScope, BringsAContextToAThreadThatHasNone) {
  in_fresh_process({}, [] {
    const Driver driver = open_driver();
    std::thread([&] {
      {
        const auto scope = ContextScope::enter(driver, 0);
        ASSERT_TRUE(scope.ok());
        EXPECT_EQ(driver.current_device(), 0);
        EXPECT_TRUE(primary_active(0));
      }
      EXPECT_EQ(current(), nullptr);
      EXPECT_FALSE(primary_active(0));
    }).join();
  });
}

TEST(ContextScope, GivesBackAnotherDevicesContext) {
  in_fresh_process({{"EMUGPU_COUNT", "2"}}, [] {
    bind_device(0);
    const CUcontext before = current();
    const Driver driver = open_driver();
    {
      const auto scope = ContextScope::enter(driver, 1);
      ASSERT_TRUE(scope.ok());
      EXPECT_EQ(current(), primary(1));
    }
    EXPECT_EQ(current(), before);
    EXPECT_FALSE(primary_active(1));
  });
}

TEST(ContextScope, LeavesTheUsersOwnContextOfTheDeviceInPlace) {
  in_fresh_process({}, [] {
    const Driver driver = open_driver();
    CUcontext own = nullptr;
    ASSERT_EQ(cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
    {
      const auto scope = ContextScope::enter(driver, 0);
      ASSERT_TRUE(scope.ok());
      EXPECT_EQ(current(), own);
    }
    EXPECT_EQ(current(), own);
    EXPECT_FALSE(primary_active(0)) << "a context was made that nobody needs";
  });
}

TEST(ContextScope, RestoresTheCaptureMode) {
  in_fresh_process({}, [] {
    const Driver driver = open_driver();
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    {
      const auto scope = ContextScope::enter(driver, 0);
      ASSERT_TRUE(scope.ok());
      mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
      EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    }
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    ASSERT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  });
}

TEST(ContextScope, RefusesADeviceThatIsNotThere) {
  in_fresh_process({}, [] {
    const Driver driver = open_driver();
    const auto scope = ContextScope::enter(driver, 3);
    ASSERT_FALSE(scope.ok());
    expect_parts(scope.error(), {"cuDevicePrimaryCtxRetain", "101", "device 3"});
    EXPECT_EQ(current(), nullptr);
  });
}

TEST(GpuFlush, ShowsWhatNicsWroteFromAnyThread) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}}, [] {
    bind_device(0);
    const CUdeviceptr memory = allocate(1 << 20);
    const Driver driver = open_driver();
    emugpu_nic_wrote(7, pointer(memory), 100);
    ASSERT_EQ(emugpu_invisible_bytes(), 100u);
    std::thread([&] {
      const Status flushed = driver.flush(0);
      EXPECT_TRUE(flushed.ok()) << flushed.error().text();
      EXPECT_EQ(current(), nullptr);
    }).join();
    EXPECT_EQ(emugpu_invisible_bytes(), 0u);
  });
}

TEST(GpuFlush, IsOfTheDeviceThatIsNamed) {
  in_fresh_process({{"EMUGPU_VISIBLE_AFTER_MS", kLong}, {"EMUGPU_COUNT", "2"}}, [] {
    bind_device(1);
    emugpu_nic_wrote(7, pointer(allocate(1 << 20)), 100);
    const Driver driver = open_driver();
    EXPECT_TRUE(driver.flush(0).ok());
    EXPECT_EQ(emugpu_invisible_bytes(), 100u);
    EXPECT_TRUE(driver.flush(1).ok());
    EXPECT_EQ(emugpu_invisible_bytes(), 0u);
  });
}

TEST(GpuFlush, FailsWithTheDriversReason) {
  in_fresh_process({{"EMUGPU_FAULTS", "flush"}}, [] {
    const Status flushed = open_driver().flush(0);
    ASSERT_FALSE(flushed.ok());
    expect_parts(flushed.error(),
                 {"cuFlushGPUDirectRDMAWrites failed with 801 (CUDA_ERROR_NOT_SUPPORTED)"});
  });
}

}  // namespace
}  // namespace fabrail::gpu
