// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Streams are in order, the NULL stream waits for the others, and kernels run by name.
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/sim/gpu/emugpu.h"
#include "tests/sim/gpu/tests/fresh_process.h"

namespace emugpu {
namespace {

CUstream open_stream(unsigned flags) {
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, flags), CUDA_SUCCESS);
  return stream;
}

// Work that holds its stream until it is let go.
struct Gate {
  std::atomic<bool> open{false};

  void hold(CUstream stream) { ASSERT_EQ(cuLaunchHostFunc(stream, wait, this), CUDA_SUCCESS); }
  static void wait(void* self) {
    while (!static_cast<Gate*>(self)->open) std::this_thread::yield();
  }
};

TEST(Stream, IsBusyUntilItsWorkIsDone) {
  in_fresh_process({}, [] {
    bind_device(0);
    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(cuStreamQuery(stream), CUDA_SUCCESS);
    Gate gate;
    gate.hold(stream);
    EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    gate.open = true;
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(stream), CUDA_SUCCESS);
  });
}

TEST(Stream, NullStreamWaitsForBlockingStreamsOnly) {
  in_fresh_process({}, [] {
    bind_device(0);
    Gate gate;
    gate.hold(open_stream(CU_STREAM_NON_BLOCKING));
    const CUdeviceptr address = allocate(16);
    EXPECT_EQ(cuMemsetD8(address, 1, 16), CUDA_SUCCESS);  // would hang if it waited

    Gate blocking;
    blocking.hold(open_stream(CU_STREAM_DEFAULT));
    EXPECT_EQ(cuMemsetD8Async(address, 2, 16, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    blocking.open = true;
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    gate.open = true;
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

TEST(Stream, WaitsForAnEventOfAnother) {
  in_fresh_process({}, [] {
    bind_device(0);
    CUstream first = open_stream(CU_STREAM_NON_BLOCKING);
    CUstream second = open_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = nullptr;
    ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
    Gate gate;
    gate.hold(first);
    ASSERT_EQ(cuEventRecord(event, first), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
    gate.open = true;
    EXPECT_EQ(cuStreamSynchronize(second), CUDA_SUCCESS);
    EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  });
}

TEST(Copy, ReadsAPageableSourceBeforeItReturns) {
  in_fresh_process({}, [] {
    bind_device(0);
    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);
    Gate gate;
    gate.hold(stream);
    const CUdeviceptr address = allocate(4);
    std::array<char, 4> data{'g', 'o', 'o', 'd'};
    ASSERT_EQ(cuMemcpyHtoDAsync(address, data.data(), data.size(), stream), CUDA_SUCCESS);
    data.fill('x');
    gate.open = true;
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    std::array<char, 4> back{};
    ASSERT_EQ(cuMemcpyDtoH(back.data(), address, back.size()), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(back.data(), "good", 4), 0);
  });
}

struct FillArguments {
  unsigned char* to;
  unsigned char value;
  unsigned count;
};

void fill(const void* arguments, const emugpu_grid* grid) {
  const auto* a = static_cast<const FillArguments*>(arguments);
  std::memset(emugpu_kernel_address(a->to), a->value, a->count * grid->blocks[0]);
}

TEST(Kernel, RunsByNameWithACopyOfItsArguments) {
  in_fresh_process({}, [] {
    bind_device(0);
    emugpu_register_kernel("fill", sizeof(FillArguments), fill);
    auto* function = static_cast<CUfunction>(emugpu_find_kernel("fill"));
    ASSERT_NE(function, nullptr);
    EXPECT_EQ(emugpu_find_kernel("unknown"), nullptr);
    const CUdeviceptr address = allocate(64);
    FillArguments arguments{static_cast<unsigned char*>(pointer(address)), 9, 32};
    void* list[] = {&arguments};
    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);
    Gate gate;
    gate.hold(stream);
    ASSERT_EQ(cuLaunchKernel(function, 2, 1, 1, 1, 1, 1, 0, stream, list, nullptr), CUDA_SUCCESS);
    arguments.value = 1;
    gate.open = true;
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    std::array<unsigned char, 64> back{};
    ASSERT_EQ(cuMemcpyDtoH(back.data(), address, back.size()), CUDA_SUCCESS);
    EXPECT_EQ(std::accumulate(back.begin(), back.end(), 0), 64 * 9);
  });
}

}  // namespace
}  // namespace emugpu
