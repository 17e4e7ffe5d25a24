// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Our description of the driver's ABI against CUDA's own header.
#include <cuda.h>

#include "src/gpu/cuda_abi.h"

namespace fabrail::gpu::cuda {
namespace {

template <typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<long>(ours) == static_cast<long>(theirs);
}

static_assert(sizeof(Code) == sizeof(CUresult) && sizeof(int) == sizeof(CUdevice));
static_assert(sizeof(Address) == sizeof(CUdeviceptr));
static_assert(sizeof(AllocationHandle) == sizeof(CUmemGenericAllocationHandle));

static_assert(same(kSuccess, CUDA_SUCCESS));
static_assert(same(kInvalidValue, CUDA_ERROR_INVALID_VALUE));
static_assert(same(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED));
static_assert(same(kDeinitialized, CUDA_ERROR_DEINITIALIZED));
static_assert(same(kStubLibrary, CUDA_ERROR_STUB_LIBRARY));
static_assert(same(kNoDevice, CUDA_ERROR_NO_DEVICE));
static_assert(same(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE));
static_assert(same(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT));
static_assert(same(kNotSupported, CUDA_ERROR_NOT_SUPPORTED));
static_assert(same(kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY));
static_assert(same(kDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
static_assert(same(kUnknown, CUDA_ERROR_UNKNOWN));

using enum DeviceAttribute;
static_assert(same(kPciBus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
static_assert(same(kPciDevice, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
static_assert(same(kPciDomain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID));
static_assert(same(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(same(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(kGpuDirectSupported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED));
static_assert(same(kFlushOptions, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS));
static_assert(same(kWritesOrdering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING));
static_assert(same(kDmabufSupported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED));

using enum PointerAttribute;
static_assert(same(kMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
static_assert(same(kIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED));
static_assert(same(kDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(same(kRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR));
static_assert(same(kRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE));
static_assert(same(kIsGpuDirectCapable, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE));

static_assert(same(kMemoryTypeDevice, CU_MEMORYTYPE_DEVICE));
static_assert(same(kDmabufHandle, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD));
static_assert(same(kFlushByHost, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST));
static_assert(same(kFlushCurrentContext, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX));
static_assert(same(kFlushToOwner, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
static_assert(same(kOrderedForOwner, CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER));
static_assert(same(kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED));

}  // namespace
}  // namespace fabrail::gpu::cuda
