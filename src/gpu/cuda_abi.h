// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The part of the CUDA driver's public ABI that is used here, so that the plugin compiles without
// CUDA's headers. A test compares it with them where they are there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fabrail::gpu::cuda {

using Code = int;  ///< CUresult
using Address = unsigned long long;
using AllocationHandle = unsigned long long;
using Context = struct CUctx_st*;  // NOLINT(readability-identifier-naming): the driver's own name

constexpr Code kSuccess = 0;
constexpr Code kInvalidValue = 1;
constexpr Code kNotInitialized = 3;
constexpr Code kDeinitialized = 4;
constexpr Code kStubLibrary = 34;
constexpr Code kNoDevice = 100;
constexpr Code kInvalidDevice = 101;
constexpr Code kInvalidContext = 201;
constexpr Code kNotSupported = 801;
constexpr Code kSystemNotReady = 802;
constexpr Code kDriverMismatch = 803;
constexpr Code kUnknown = 999;

/// CUdevice_attribute.
enum class DeviceAttribute : int {
  kPciBus = 33,
  kPciDevice = 34,
  kPciDomain = 50,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kGpuDirectSupported = 116,
  kFlushOptions = 117,
  kWritesOrdering = 118,
  kDmabufSupported = 124,
};

/// CUpointer_attribute.
enum class PointerAttribute : int {
  kMemoryType = 2,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kRangeStart = 11,
  kRangeSize = 12,
  kIsGpuDirectCapable = 15,
};

constexpr unsigned kMemoryTypeDevice = 2;   ///< CU_MEMORYTYPE_DEVICE
constexpr int kDmabufHandle = 1;            ///< CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
constexpr int kFlushByHost = 1;             ///< CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST
constexpr int kFlushCurrentContext = 0;     ///< ..._WRITES_TARGET_CURRENT_CTX
constexpr int kFlushToOwner = 100;          ///< ..._WRITES_TO_OWNER
constexpr int kOrderedForOwner = 100;       ///< CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER
constexpr int kCaptureRelaxed = 2;          ///< CU_STREAM_CAPTURE_MODE_RELAXED
constexpr int kOldestDriver = 11030;        ///< attributes of GPUDirect, and the flush
constexpr int kOldestDriverDmabuf = 11070;  ///< cuMemGetHandleForAddressRange

}  // namespace fabrail::gpu::cuda
