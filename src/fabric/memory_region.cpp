// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/fabric/memory_region.h"

#include <sys/resource.h>
#include <sys/uio.h>

#include <rdma/fi_errno.h>

#include "src/fabric/compat.h"

namespace fabrail::fabric {

namespace {

constexpr std::uint64_t kAccess =
    FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

std::string locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur) + " bytes";
}

// Which limit it can be: the kernel says only that there is no memory.
std::string why_no_memory(const Endpoint& endpoint) {
  const LiveRegions& live = endpoint.live_regions();
  return "; this process may lock " + locked_memory_limit() +
         " (RLIMIT_MEMLOCK, ulimit -l), and has registered " + std::to_string(live.bytes) +
         " bytes in " + std::to_string(live.count) + " regions on this NIC";
}

Error registration_failure(const Endpoint& endpoint, std::span<std::byte> range, int rc,
                           const std::string& what, const std::string& advice) {
  return make_error(Code::kSystem, -rc, "registering %zu bytes%s at %p on NIC %s failed: %s%s",
                    range.size(), what.c_str(), static_cast<void*>(range.data()),
                    endpoint.nic().name.c_str(), error_text(endpoint.library(), rc).c_str(),
                    rc == -FI_ENOMEM ? why_no_memory(endpoint).c_str() : advice.c_str());
}

std::string describe(const DeviceRange& range) {
  const char* way = range.dmabuf ? " by dma-buf" : " by peer memory";
  if (!range.cuda_device) return std::string(" of a GPU") + way + ", as host memory,";
  return " of GPU " + std::to_string(*range.cuda_device) + way;
}

const char* advise(const DeviceRange& range, int rc) {
  if (rc == -FI_ENOSYS && range.cuda_device)
    return "; libfabric has not found CUDA (libcudart.so and libcuda.so.1 in LD_LIBRARY_PATH?)";
  if (!range.dmabuf)
    return "; is the kernel module for peer memory loaded (EFA driver, efa_nv_peermem)?";
  return "; does the NIC's kernel driver take dma-bufs (Linux 5.12, EFA driver 2 or newer)?";
}

bool knows_dmabuf(const Endpoint& endpoint) {
  return endpoint.nic().info->fabric_attr->api_version >= compat::kDmabufVersion;
}

// What libfabric need not be asked for.
std::optional<Error> objection(const Endpoint& endpoint, const DeviceRange& range) {
  const char* nic = endpoint.nic().name.c_str();
  if (range.cuda_device && !endpoint.caps().device_memory)
    return make_error(Code::kUnsupported, 0,
                      "libfabric (%s) offers no CUDA memory (FI_HMEM) on NIC %s",
                      endpoint.library().path.c_str(), nic);
  if (range.dmabuf && !knows_dmabuf(endpoint))
    return make_error(Code::kUnsupported, 0,
                      "libfabric (%s) knows no dma-buf on NIC %s: 1.20 is the first that does",
                      endpoint.library().path.c_str(), nic);
  return std::nullopt;
}

int register_device(const Endpoint& endpoint, const DeviceRange& range, std::uint64_t key,
                    fid_mr** region) {
  const iovec plain{range.bytes.data(), range.bytes.size()};
  compat::MrDmabuf dmabuf;
  compat::MrAttr attr;
  attr.region = &plain;
  attr.access = kAccess;
  attr.requested_key = key;
  if (range.cuda_device) {
    attr.iface = FI_HMEM_CUDA;
    attr.device.cuda = *range.cuda_device;
  }
  if (range.dmabuf) {
    // Peers address the region by device addresses: the dma-buf begins `offset` before the range.
    dmabuf = {.fd = range.dmabuf->fd,
              .offset = range.dmabuf->offset,
              .bytes = range.bytes.size(),
              .base = range.bytes.data() - range.dmabuf->offset};
    attr.region = &dmabuf;
  }
  return fi_mr_regattr(endpoint.domain(), reinterpret_cast<const fi_mr_attr*>(&attr),
                       range.dmabuf ? compat::kMrDmabuf : 0, region);
}

}  // namespace

void MemoryRegion::Close::operator()(fid_mr* region) const noexcept {
  fi_close(&region->fid);
  --live->count;
  live->bytes -= bytes;
}

MemoryRegion::Owner MemoryRegion::own(const Endpoint& endpoint, fid_mr* region, std::size_t bytes) {
  LiveRegions& live = endpoint.live_regions();
  ++live.count;
  live.bytes += bytes;
  return Owner(region, Close{&live, bytes});
}

int MemoryRegion::enable(const Endpoint& endpoint, fid_mr* region) {
  if (!endpoint.caps().endpoint_regions) return 0;
  const int rc = fi_mr_bind(region, &endpoint.ep()->fid, 0);
  return rc == 0 ? fi_mr_enable(region) : rc;
}

Result<MemoryRegion> MemoryRegion::open(const Endpoint& endpoint, std::span<std::byte> range,
                                        std::uint64_t requested_key) {
  fid_mr* region = nullptr;
  int rc = fi_mr_reg(endpoint.domain(), range.data(), range.size(), kAccess, 0, requested_key, 0,
                     &region, nullptr);
  if (rc != 0) return registration_failure(endpoint, range, rc, "", "");
  Owner owner = own(endpoint, region, range.size());
  rc = enable(endpoint, region);
  if (rc != 0) return registration_failure(endpoint, range, rc, "", "");
  return MemoryRegion(std::move(owner));
}

Result<MemoryRegion> MemoryRegion::open_device(const Endpoint& endpoint, const DeviceRange& range,
                                               std::uint64_t requested_key) {
  if (const auto refused = objection(endpoint, range)) return *refused;
  fid_mr* region = nullptr;
  int rc = register_device(endpoint, range, requested_key, &region);
  if (rc != 0)
    return registration_failure(endpoint, range.bytes, rc, describe(range), advise(range, rc));
  Owner owner = own(endpoint, region, range.bytes.size());
  rc = enable(endpoint, region);
  if (rc != 0)
    return registration_failure(endpoint, range.bytes, rc, describe(range), advise(range, rc));
  return MemoryRegion(std::move(owner));
}

}  // namespace fabrail::fabric
