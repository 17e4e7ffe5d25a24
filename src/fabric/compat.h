// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What libfabrics newer than the headers at hand have: one binary serves 1.17 and later, and uses
// these only where the running library knows them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

namespace fabrail::fabric::compat {

/// The first libfabric with FI_MR_DMABUF. Source  fi_mr(3).
constexpr std::uint32_t kDmabufVersion = FI_VERSION(1, 20);
/// FI_MR_DMABUF.
constexpr std::uint64_t kMrDmabuf = std::uint64_t{1} << 40;

/// fi_mr_dmabuf: remote addresses begin at `base` + `offset`.
struct MrDmabuf {
  int fd = -1;
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
  void* base = nullptr;
};

/// fi_mr_attr, with all that was appended to it up to libfabric 2.
struct MrAttr {
  const void* region = nullptr;  ///< iovec, or MrDmabuf
  std::size_t count = 1;
  std::uint64_t access = 0;
  std::uint64_t offset = 0;
  std::uint64_t requested_key = 0;
  void* context = nullptr;
  std::size_t auth_key_bytes = 0;
  std::uint8_t* auth_key = nullptr;
  fi_hmem_iface iface = FI_HMEM_SYSTEM;
  union {
    std::uint64_t reserved = 0;
    int cuda;
  } device;
  void* hmem_data = nullptr;
  std::size_t page_bytes = 0;
  const fid_mr* base_region = nullptr;
  std::size_t sub_regions = 0;
};
static_assert(offsetof(MrAttr, access) == offsetof(fi_mr_attr, access));
static_assert(offsetof(MrAttr, requested_key) == offsetof(fi_mr_attr, requested_key));
static_assert(offsetof(MrAttr, iface) == offsetof(fi_mr_attr, iface));
static_assert(offsetof(MrAttr, device) == offsetof(fi_mr_attr, device));
static_assert(sizeof(MrAttr) >= sizeof(fi_mr_attr));

/// EFA's completion status for a queue pair that is not there (any more).   Source  efa_io_defs.h.
constexpr int kEfaBadDestination = 9;

/// Endpoint options; a library that does not know one says -FI_ENOPROTOOPT.
constexpr int kOptCudaApiPermitted = 10;       ///< FI_OPT_CUDA_API_PERMITTED (1.18)
constexpr int kOptSharedMemoryPermitted = 11;  ///< FI_OPT_SHARED_MEMORY_PERMITTED (1.18)
static_assert(FI_OPT_XPU_TRIGGER + 1 == kOptCudaApiPermitted);

/// Endpoint options of the EFA provider, numbered in fi_efa(7)'s own range. Since 1.22; all `bool`,
/// those on emulation read only.
constexpr int kOptEfaEmulatedRead = -251265024 + 1;
constexpr int kOptEfaEmulatedWrite = -251265024 + 2;
constexpr int kOptEfaWriteKeeps128Bytes = -251265024 + 6;  ///< ..._IN_ORDER_ALIGNED_128_BYTES

}  // namespace fabrail::fabric::compat
