// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One registration of memory on one NIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "src/fabric/endpoint.h"

namespace fabrail::fabric {

/// Where in a dma-buf a range of device memory begins. The descriptor may be closed once it is
/// registered.
struct DmabufRange {
  int fd = -1;
  std::uint64_t offset = 0;
};

/// Device memory, and the way to register it: by dma-buf or by address (peer memory: the NIC's
/// kernel driver asks NVIDIA's, or refuses it as memory that it cannot pin); as CUDA memory, or as
/// if it were host memory, which is sound only where the provider leaves every byte to the NIC.
struct DeviceRange {
  std::span<std::byte> bytes;         ///< device addresses, which nothing here touches
  std::optional<int> cuda_device;     ///< ordinal; empty: as host memory
  std::optional<DmabufRange> dmabuf;  ///< empty: by address
};

/// Memory that one NIC may read and write, and that peers may reach by its key until it is closed.
class MemoryRegion {
 public:
  /// Registers host memory for local and remote reads and writes.
  ///
  /// `requested_key`  used where the provider does not choose keys itself; never used before on
  /// this endpoint. Errors  kSystem with the fi_errno; for -FI_ENOMEM the limit on locked memory.
  /// Thread  any.   Source  fi_mr(3).
  static Result<MemoryRegion> open(const Endpoint& endpoint, std::span<std::byte> range,
                                   std::uint64_t requested_key);

  /// Registers device memory likewise; what is registered already stays if this fails.
  ///
  /// Errors  kUnsupported if this libfabric cannot, without asking it; kSystem with the fi_errno
  /// and the likely cause. Thread  any.   Source  fi_mr(3): fi_mr_regattr, FI_HMEM_CUDA,
  /// FI_MR_DMABUF.
  static Result<MemoryRegion> open_device(const Endpoint& endpoint, const DeviceRange& range,
                                          std::uint64_t requested_key);

  [[nodiscard]] void* descriptor() const { return fi_mr_desc(region_.get()); }
  [[nodiscard]] std::uint64_t key() const { return fi_mr_key(region_.get()); }

 private:
  // Closes a region and takes it out of the endpoint's count.
  struct Close {
    LiveRegions* live = nullptr;
    std::size_t bytes = 0;
    void operator()(fid_mr* region) const noexcept;
  };
  using Owner = std::unique_ptr<fid_mr, Close>;

  explicit MemoryRegion(Owner region) : region_(std::move(region)) {}
  static Owner own(const Endpoint& endpoint, fid_mr* region, std::size_t bytes);
  static int enable(const Endpoint& endpoint, fid_mr* region);

  Owner region_;
};

}  // namespace fabrail::fabric
