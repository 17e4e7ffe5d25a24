// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The CUDA runtime on the emulated driver: devices of threads, errors, pointers, kernels, capture.
#include <cuda_runtime_api.h>

#include <array>
#include <cstring>
#include <thread>

#include "tests/sim/gpu/emugpu.h"
#include "tests/sim/gpu/runtime/emugpu_runtime.h"
#include "tests/sim/gpu/tests/fresh_process.h"

namespace emugpu {
namespace {

void* allocate_bytes(std::size_t bytes) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, bytes), cudaSuccess);
  return pointer;
}

TEST(Runtime, BindsThePrimaryContextOfDeviceZeroOnFirstUse) {
  in_fresh_process({{"EMUGPU_COUNT", "2"}}, [] {
    allocate_bytes(64);
    CUcontext current = nullptr;
    CUcontext primary = nullptr;
    ASSERT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    EXPECT_EQ(current, primary);
  });
}

TEST(Runtime, DeviceBelongsToTheThread) {
  in_fresh_process({{"EMUGPU_COUNT", "2"}}, [] {
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    std::thread([] {
      int device = -1;
      EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
      EXPECT_EQ(device, 0);
    }).join();
    cudaPointerAttributes attributes;
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, allocate_bytes(64)), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.device, 1);
    EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  });
}

TEST(Runtime, UnknownPointersAreUnregisteredHostMemory) {
  in_fresh_process({}, [] {
    int local = 0;
    cudaPointerAttributes attributes;
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, &local), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(attributes.hostPointer, &local);
  });
}

TEST(Runtime, LastErrorIsKeptForTheThreadUntilAsked) {
  in_fresh_process({}, [] {
    int local = 0;
    EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
    std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "CUDA_ERROR_INVALID_VALUE");
  });
}

TEST(Runtime, CopiesThereAndBack) {
  in_fresh_process({}, [] {
    void* device = allocate_bytes(8);
    std::array<char, 8> back{};
    ASSERT_EQ(cudaMemcpy(device, "abcdefg", 8, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemset(device, 'x', 2), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(back.data(), device, 8, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_STREQ(back.data(), "xxcdefg");
  });
}

TEST(Runtime, FreeInAStreamWaitsForWhatIsBeforeIt) {
  in_fresh_process({}, [] {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    void* device = nullptr;
    ASSERT_EQ(cudaMallocAsync(&device, 3 << 20, stream), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(device, 1, 3 << 20, stream), cudaSuccess);
    ASSERT_EQ(cudaFreeAsync(device, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
  });
}

TEST(Runtime, FindsDriverFunctionsByName) {
  in_fresh_process({}, [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult status;
    ASSERT_EQ(cudaGetDriverEntryPoint("cuMemCreate", &function, cudaEnableDefault, &status),
              cudaSuccess);
    EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemCreate));
    EXPECT_EQ(cudaGetDriverEntryPoint("cuNothing", &function, cudaEnableDefault, nullptr),
              cudaErrorSymbolNotFound);
  });
}

void host_symbol() {}

void write_argument(const void* arguments, const emugpu_grid*) {
  int* target = nullptr;
  std::memcpy(&target, arguments, sizeof target);
  *static_cast<int*>(emugpu_kernel_address(target)) = 42;
}

TEST(Runtime, LaunchesTheKernelThatASymbolIsBoundTo) {
  in_fresh_process({}, [] {
    const void* symbol = reinterpret_cast<const void*>(&host_symbol);
    EXPECT_EQ(cudaLaunchKernel(symbol, dim3{1}, dim3{1}, nullptr, 0, nullptr),
              cudaErrorInvalidResourceHandle);
    EXPECT_EQ(emugpu_bind_kernel(symbol, "write_argument"), -1);
    emugpu_register_kernel("write_argument", sizeof(int*), write_argument);
    ASSERT_EQ(emugpu_bind_kernel(symbol, "write_argument"), 0);
    void* target = allocate_bytes(sizeof(int));
    void* list[] = {&target};
    ASSERT_EQ(cudaLaunchKernel(symbol, dim3{1}, dim3{1}, list, 0, nullptr), cudaSuccess);
    int value = 0;
    ASSERT_EQ(cudaMemcpy(&value, target, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(value, 42);
  });
}

TEST(Runtime, RefusesToCapture) {
  in_fresh_process({}, [] {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
    EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorNotSupported);
  });
}

}  // namespace
}  // namespace emugpu
