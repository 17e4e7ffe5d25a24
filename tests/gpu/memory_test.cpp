// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What an address is, and dma-bufs, over the emulated driver.
#include "src/gpu/memory.h"

#include <sys/mman.h>

#include <cstring>
#include <optional>
#include <thread>

#include "src/gpu/probe_buffer.h"
#include "tests/gpu/emulated.h"

namespace fabrail::gpu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMib = 1 << 20;

std::uintptr_t number(CUdeviceptr address) { return static_cast<std::uintptr_t>(address); }

TEST(Classify, KnowsADeviceAndItsAllocation) {
  in_fresh_process({{"EMUGPU_COUNT", "2"}}, [] {
    bind_device(1);
    const CUdeviceptr base = allocate(5 * kMib);
    const Driver driver = open_driver();
    const Memory memory = classify(driver, pointer(base + 3 * kMib + 7)).value();
    EXPECT_EQ(memory.kind, MemoryKind::kDevice);
    EXPECT_EQ(memory.device, 1);
    EXPECT_EQ(memory.base, number(base));
    EXPECT_EQ(memory.bytes, 5 * kMib);
    EXPECT_FALSE(memory.vmm);
    EXPECT_TRUE(memory.gpudirect);
  });
}

TEST(Classify, TakesAllElseForHostMemory) {
  in_fresh_process({}, [] {
    bind_device(0);
    const Driver driver = open_driver();
    char local = 0;
    void* pinned = nullptr;
    ASSERT_EQ(cuMemHostAlloc(&pinned, kPage, 0), CUDA_SUCCESS);
    for (const void* address : {static_cast<const void*>(&local), static_cast<const void*>(pinned),
                                static_cast<const void*>(nullptr)})
      EXPECT_EQ(classify(driver, address).value().kind, MemoryKind::kHost) << address;
  });
}

TEST(Classify, KnowsVirtualMemoryManagement) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr base = map_pieces(1);
    const Memory memory = classify(open_driver(), pointer(base + 1)).value();
    EXPECT_EQ(memory.kind, MemoryKind::kDevice);
    EXPECT_TRUE(memory.vmm);
    EXPECT_EQ(memory.base, number(base));
  });
}

TEST(Classify, LeavesNoReferenceToVirtualMemory) {
  in_fresh_process({{"EMUGPU_LOG", "0"}}, [] {
    bind_device(0);
    const Driver driver = open_driver();
    const CUdeviceptr base = map_pieces(1);
    CUmemGenericAllocationHandle handle = 0;
    ASSERT_EQ(cuMemRetainAllocationHandle(&handle, pointer(base)), CUDA_SUCCESS);
    ASSERT_TRUE(classify(driver, pointer(base)).ok());
    // The one of its creation, and the one just taken: then the memory is unmapped and gone.
    ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    ASSERT_EQ(cuMemUnmap(base, 2 * kMib), CUDA_SUCCESS);
    EXPECT_NE(cuMemRelease(handle), CUDA_SUCCESS);
  });
}

TEST(DeviceMemory, SpansMappingsOfOneDevice) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr base = map_pieces(3);
    const auto memory = device_memory(open_driver(), pointer(base + kMib), 4 * kMib);
    ASSERT_TRUE(memory.ok()) << memory.error().text();
    EXPECT_EQ(memory.value().base, number(base));
    EXPECT_EQ(memory.value().bytes, 6 * kMib);
  });
}

TEST(DeviceMemory, EndsWhereMappingsEnd) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr base = map_pieces(2);
    const auto memory = device_memory(open_driver(), pointer(base), 5 * kMib);
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.error().code, Code::kInvalidArgument);
    expect_parts(memory.error(), {"5242880 bytes at 0x", "ends after 4194304 bytes"});
  });
}

TEST(DeviceMemory, EndsWithItsAllocation) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr base = allocate(3 * kMib);
    const Driver driver = open_driver();
    EXPECT_TRUE(device_memory(driver, pointer(base + kMib), 2 * kMib).ok());
    const auto memory = device_memory(driver, pointer(base + kMib), 2 * kMib + 1);
    ASSERT_FALSE(memory.ok());
    expect_parts(memory.error(), {"2097153 bytes at 0x", "device 0", "ends after 3145728 bytes"});
  });
}

TEST(DeviceMemory, IsNotHostMemoryNorFreedMemory) {
  in_fresh_process({}, [] {
    bind_device(0);
    const Driver driver = open_driver();
    const CUdeviceptr freed = allocate(3 * kMib);
    ASSERT_EQ(cuMemFree(freed), CUDA_SUCCESS);
    char local = 0;
    for (const void* address :
         {static_cast<const void*>(&local), static_cast<const void*>(pointer(freed))}) {
      const auto memory = device_memory(driver, address, 1);
      ASSERT_FALSE(memory.ok());
      EXPECT_EQ(memory.error().code, Code::kInvalidArgument);
      expect_parts(memory.error(), {"not device memory", "freed already"});
    }
  });
}

TEST(DeviceMemory, IsNotManagedMemory) {
  in_fresh_process({}, [] {
    bind_device(0);
    const Driver driver = open_driver();
    CUdeviceptr managed = 0;
    ASSERT_EQ(cuMemAllocManaged(&managed, kMib, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(classify(driver, pointer(managed)).value().kind, MemoryKind::kManaged);
    const auto memory = device_memory(driver, pointer(managed), kPage);
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.error().code, Code::kInvalidArgument);
    expect_parts(memory.error(), {"managed memory", "cudaMalloc"});
    EXPECT_EQ(cuMemFree(managed), CUDA_SUCCESS);
    EXPECT_EQ(classify(driver, pointer(managed)).value().kind, MemoryKind::kHost);
  });
}

TEST(DeviceMemory, MustBeCapableOfGpuDirect) {
  in_fresh_process({}, [] {
    bind_device(0);
    const CUdeviceptr base = map_pieces(1, 0, false);
    const auto memory = device_memory(open_driver(), pointer(base), kPage);
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.error().code, Code::kUnsupported);
    expect_parts(memory.error(), {"not GPUDirect RDMA", "gpuDirectRDMACapable"});
  });
  in_fresh_process({{"EMUGPU_GPUDIRECT", "0"}}, [] {
    bind_device(0);
    const auto memory = device_memory(open_driver(), pointer(allocate(kMib)), kPage);
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.error().code, Code::kUnsupported);
  });
}

// Writes through the dma-buf as a NIC would, and reads the device memory.
void expect_reaches(const Dmabuf& dmabuf, CUdeviceptr address, std::size_t bytes) {
  const off_t position = lseek(dmabuf.fd(), 0, SEEK_CUR);
  const std::size_t length = dmabuf.offset() + bytes;
  void* mapped = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf.fd(), position);
  ASSERT_NE(mapped, MAP_FAILED);
  std::memset(static_cast<char*>(mapped) + dmabuf.offset(), 0x5a, bytes);
  std::vector<char> back(bytes);
  ASSERT_EQ(cuMemcpyDtoH(back.data(), address, bytes), CUDA_SUCCESS);
  EXPECT_EQ(back, std::vector<char>(bytes, 0x5a));
  munmap(mapped, length);
}

TEST(ExportDmabuf, BeginsAtTheRangesPage) {
  const struct {
    std::size_t offset;
    std::size_t bytes;
  } rows[] = {{0, 4 * kMib},      {0, 1},           {kPage, kPage}, {5, 3}, {kPage - 1, 2},
              {kMib + 512, kMib}, {4 * kMib - 1, 1}};
  in_fresh_process({}, [&] {
    bind_device(0);
    const Driver driver = open_driver();
    const CUdeviceptr base = allocate(4 * kMib);
    for (const auto& row : rows) {
      const auto dmabuf = export_dmabuf(driver, pointer(base + row.offset), row.bytes);
      ASSERT_TRUE(dmabuf.ok()) << dmabuf.error().text();
      EXPECT_EQ(dmabuf.value().offset(), row.offset % kPage);
      expect_reaches(dmabuf.value(), base + row.offset, row.bytes);
    }
  });
}

TEST(ExportDmabuf, WorksForAllocationsThatShareAPage) {
  in_fresh_process({}, [] {
    bind_device(0);
    const Driver driver = open_driver();
    const CUdeviceptr first = allocate(1000);
    const CUdeviceptr second = allocate(1000);
    for (const CUdeviceptr base : {first, second}) {
      const auto dmabuf = export_dmabuf(driver, pointer(base), 1000);
      ASSERT_TRUE(dmabuf.ok()) << dmabuf.error().text();
      expect_reaches(dmabuf.value(), base, 1000);
    }
  });
}

TEST(ExportDmabuf, WorksOnAThreadWithoutContext) {
  in_fresh_process({}, [] {
    bind_device(0);
    const Driver driver = open_driver();
    const CUdeviceptr base = map_pieces(1);
    std::thread([&] {
      const auto dmabuf = export_dmabuf(driver, pointer(base + kPage), kPage);
      ASSERT_TRUE(dmabuf.ok()) << dmabuf.error().text();
      CUcontext context = nullptr;
      ASSERT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
      EXPECT_EQ(context, nullptr);
    }).join();
  });
}

TEST(ExportDmabuf, ClosesItsDescriptor) {
  in_fresh_process({}, [] {
    bind_device(0);
    std::optional<Result<Dmabuf>> dmabuf(export_dmabuf(open_driver(), pointer(allocate(kMib)), 1));
    ASSERT_TRUE(dmabuf->ok());
    const int fd = dmabuf->value().fd();
    EXPECT_GE(lseek(fd, 0, SEEK_CUR), 0);
    dmabuf.reset();
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), -1);
  });
}

TEST(ExportDmabuf, IsRefusedInWords) {
  const auto export_one = [](std::initializer_list<const char*> parts) {
    bind_device(0);
    const auto dmabuf = export_dmabuf(open_driver(), pointer(allocate(kMib)), kPage);
    ASSERT_FALSE(dmabuf.ok());
    expect_parts(dmabuf.error(), parts);
  };
  in_fresh_process({{"EMUGPU_FAULTS", "export"}}, [&] {
    export_one({"cuMemGetHandleForAddressRange failed with 801 (CUDA_ERROR_NOT_SUPPORTED)",
                "4096 bytes at 0x", "dma-buf"});
  });
  in_fresh_process({{"EMUGPU_FAULTS", "context@2"}}, [&] {
    export_one({"failed with 201 (CUDA_ERROR_INVALID_CONTEXT)", "cudaDeviceReset"});
  });
  in_fresh_process({{"EMUGPU_DMABUF", "0"}}, [&] {
    export_one({"device 0 exports no dma-buf", "open kernel modules"});
  });
  in_fresh_process({{"EMUGPU_DRIVER_VERSION", "11060"}}, [&] {
    export_one({"CUDA 11.6", "CUDA 11.7 is the first"});
  });
}

TEST(ProbeBuffer, IsThereAndGoesAgain) {
  in_fresh_process({}, [] {
    const Driver driver = open_driver();
    std::byte* address = nullptr;
    {
      auto opened = ProbeBuffer::open(driver, 0);
      ASSERT_TRUE(opened.ok()) << opened.error().text();
      const ProbeBuffer buffer = opened.take();
      address = buffer.bytes().data();
      EXPECT_TRUE(buffer.dmabuf().ok());
      EXPECT_TRUE(device_memory(driver, address, ProbeBuffer::kBytes).ok());
    }
    EXPECT_FALSE(device_memory(driver, address, 1).ok());
    EXPECT_EQ(driver.current_device(), std::nullopt);
  });
}

TEST(ProbeBuffer, KeepsWhyThereIsNoDmabuf) {
  in_fresh_process({{"EMUGPU_FAULTS", "export"}}, [] {
    const auto buffer = ProbeBuffer::open(open_driver(), 0);
    ASSERT_TRUE(buffer.ok());
    ASSERT_FALSE(buffer.value().dmabuf().ok());
    expect_parts(buffer.value().dmabuf().error(), {"cuMemGetHandleForAddressRange"});
  });
}

TEST(ProbeBuffer, SaysThatMemoryIsFull) {
  in_fresh_process({{"EMUGPU_MEMORY_BYTES", "1048576"}}, [] {
    const auto buffer = ProbeBuffer::open(open_driver(), 0);
    ASSERT_FALSE(buffer.ok());
    expect_parts(buffer.error(), {"cuMemAlloc failed with 2", "device 0"});
  });
}

}  // namespace
}  // namespace fabrail::gpu
