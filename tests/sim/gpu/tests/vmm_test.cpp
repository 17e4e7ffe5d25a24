// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Virtual memory management: mapping, rights, and export to another process.
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "tests/sim/gpu/emugpu.h"
#include "tests/sim/gpu/tests/fresh_process.h"

namespace emugpu {
namespace {

constexpr std::size_t kMappedBytes = 2 << 20;
constexpr CUmemLocation kDevice{CU_MEM_LOCATION_TYPE_DEVICE, 0};

CUmemGenericAllocationHandle create(bool for_nics = true) {
  CUmemAllocationProp properties{};
  properties.allocFlags.gpuDirectRDMACapable = for_nics ? 1 : 0;
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = kDevice;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, kMappedBytes, &properties, 0), CUDA_SUCCESS);
  return handle;
}

CUdeviceptr map(CUmemGenericAllocationHandle handle) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAddressReserve(&address, kMappedBytes, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(address, kMappedBytes, 0, handle, 0), CUDA_SUCCESS);
  return address;
}

void allow(CUdeviceptr address) {
  const CUmemAccessDesc access{kDevice, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(cuMemSetAccess(address, kMappedBytes, &access, 1), CUDA_SUCCESS);
}

TEST(VirtualMemory, IsUnusableUntilAccessIsSet) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr address = map(create());
    const void* alias = emugpu_alias(pointer(address), kMappedBytes);
    ASSERT_NE(alias, nullptr);
    EXPECT_FALSE(readable(alias));
    allow(address);
    EXPECT_TRUE(readable(alias));
    EXPECT_FALSE(readable(pointer(address)));
  });
}

TEST(VirtualMemory, IsOutOfNicsReachUnlessMadeForThem) {
  in_fresh_process({{"EMUGPU_LOG", "0"}}, [] {
    bind_device(0);
    for (const bool for_nics : {false, true}) {
      const CUdeviceptr address = map(create(for_nics));
      allow(address);
      unsigned char capable = 2;
      ASSERT_EQ(
          cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, address),
          CUDA_SUCCESS);
      EXPECT_EQ(capable, for_nics ? 1 : 0);
      EXPECT_EQ(emugpu_alias(pointer(address), kMappedBytes) != nullptr, for_nics);
      int fd = -1;
      const CUresult exported = cuMemGetHandleForAddressRange(
          &fd, address, kMappedBytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
      EXPECT_EQ(exported == CUDA_SUCCESS, for_nics);
    }
  });
}

TEST(VirtualMemory, LivesAsLongAsAHandleOrAMapping) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUmemGenericAllocationHandle handle = create();
    const CUdeviceptr address = map(handle);
    allow(address);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(address, 1, kMappedBytes), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemUnmap(address, kMappedBytes), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(emugpu_alias(pointer(address), 1), nullptr);
    EXPECT_EQ(cuMemAddressFree(address, kMappedBytes), CUDA_SUCCESS);
  });
}

TEST(VirtualMemory, IsSharedWithAnotherProcessByDescriptor) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUmemGenericAllocationHandle handle = create();
    const CUdeviceptr address = map(handle);
    allow(address);
    ASSERT_EQ(cuMemsetD8(address, 0x33, kMappedBytes), CUDA_SUCCESS);
    int fd = -1;
    ASSERT_EQ(
        cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        CUDA_SUCCESS);
    in_fresh_process({}, [&] {
      CUmemGenericAllocationHandle imported = 0;
      auto* shared = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd));
      ASSERT_EQ(cuMemImportFromShareableHandle(&imported, shared,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                CUDA_SUCCESS);
      const CUdeviceptr mine = map(imported);
      allow(mine);
      EXPECT_EQ(*static_cast<char*>(emugpu_kernel_address(pointer(mine))), 0x33);
    });
    close(fd);
  });
}

TEST(VirtualMemory, ExportsADmabuf) {
  in_fresh_process({}, [] {
    bind_device(0);
    int fd = -1;
    EXPECT_EQ(cuMemGetHandleForAddressRange(&fd, map(create()), kMappedBytes,
                                            CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
              CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace emugpu
