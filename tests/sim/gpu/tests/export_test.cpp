// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// dma-buf export and IPC.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/sim/gpu/emugpu.h"
#include "tests/sim/gpu/tests/fresh_process.h"

namespace emugpu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr auto kDmabuf = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;

std::vector<char> pattern(std::size_t bytes) {
  std::vector<char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 + i / 251);
  return data;
}

// What an emulated NIC does with a dma-buf: the file position is where the range begins.
char* map_dmabuf(int fd, std::size_t bytes) {
  void* mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, lseek(fd, 0, SEEK_CUR));
  return mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped);
}

TEST(Dmabuf, HoldsTheBytesOfItsRange) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr address = allocate(3 << 20);
    const std::vector<char> data = pattern(2 * kPage);
    ASSERT_EQ(cuMemcpyHtoD(address + kPage, data.data(), data.size()), CUDA_SUCCESS);
    int whole = -1;
    int part = -1;
    ASSERT_EQ(cuMemGetHandleForAddressRange(&part, address + kPage, data.size(), kDmabuf, 0),
              CUDA_SUCCESS);
    // A second export must not move the first one's position.
    ASSERT_EQ(cuMemGetHandleForAddressRange(&whole, address, kPage, kDmabuf, 0), CUDA_SUCCESS);
    char* mapped = map_dmabuf(part, data.size());
    ASSERT_NE(mapped, nullptr);
    EXPECT_EQ(std::memcmp(mapped, data.data(), data.size()), 0);
    mapped[1] = 99;
    char back = 0;
    ASSERT_EQ(cuMemcpyDtoH(&back, address + kPage + 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(back, 99);
    close(whole);
    close(part);
  });
}

TEST(Dmabuf, CoversPagesThatSmallAllocationsShare) {
  in_fresh_process({}, [] {
    bind_device(0);
    allocate(100);
    const CUdeviceptr second = allocate(100);
    int fd = -1;
    EXPECT_EQ(cuMemGetHandleForAddressRange(&fd, second / kPage * kPage, kPage, kDmabuf, 0),
              CUDA_SUCCESS);
  });
}

TEST(Dmabuf, RefusesWhatIsNotWholePagesOfDeviceMemory) {
  in_fresh_process({{"EMUGPU_LOG", "0"}}, [] {
    bind_device(0);
    const CUdeviceptr address = allocate(3 << 20);
    void* host = nullptr;
    ASSERT_EQ(cuMemHostAlloc(&host, kPage, 0), CUDA_SUCCESS);
    int fd = -1;
    const struct {
      CUdeviceptr address;
      std::size_t bytes;
    } rows[] = {{address + 1, kPage},
                {address, kPage + 1},
                {address, 0},
                {address, 8 << 20},
                {device_pointer(host), kPage}};
    for (const auto& row : rows) {
      EXPECT_EQ(cuMemGetHandleForAddressRange(&fd, row.address, row.bytes, kDmabuf, 0),
                CUDA_ERROR_INVALID_VALUE);
    }
  });
}

TEST(Dmabuf, IsNotSupportedWhenSwitchedOffOrAtFault) {
  const auto refused = [] {
    bind_device(0);
    int fd = -1;
    EXPECT_EQ(cuMemGetHandleForAddressRange(&fd, allocate(3 << 20), kPage, kDmabuf, 0),
              CUDA_ERROR_NOT_SUPPORTED);
  };
  in_fresh_process({{"EMUGPU_DMABUF", "0"}}, refused);
  in_fresh_process({{"EMUGPU_FAULTS", "export"}}, refused);
}

TEST(Dmabuf, NeedsACurrentContext) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr address = allocate(3 << 20);
    std::thread([&] {
      int fd = -1;
      EXPECT_EQ(cuMemGetHandleForAddressRange(&fd, address, kPage, kDmabuf, 0),
                CUDA_ERROR_INVALID_CONTEXT);
    }).join();
  });
}

TEST(Ipc, OpensAnAllocationOfAnotherProcess) {
  in_fresh_process({}, [] {
    bind_device(0);
    allocate(100);  // so that the next one does not begin its page
    const CUdeviceptr address = allocate(4096);
    const std::vector<char> data = pattern(4096);
    ASSERT_EQ(cuMemcpyHtoD(address, data.data(), data.size()), CUDA_SUCCESS);
    CUipcMemHandle handle;
    ASSERT_EQ(cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
    in_fresh_process({}, [&] {
      CUdeviceptr opened = 0;
      ASSERT_EQ(cuIpcOpenMemHandle(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                CUDA_SUCCESS);
      std::vector<char> back(data.size());
      ASSERT_EQ(std::memcmp(emugpu_kernel_address(pointer(opened)), data.data(), data.size()), 0);
      ASSERT_EQ(cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
    });
  });
}

}  // namespace
}  // namespace emugpu
