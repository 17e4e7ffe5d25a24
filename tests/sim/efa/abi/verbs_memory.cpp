// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// libibverbs: protection domains, memory regions, address handles.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tests/sim/efa/abi/exports.h"
#include "tests/sim/efa/abi/handles.h"
#include "tests/sim/efa/abi/host.h"
#include "tests/sim/efa/abi/local_memory.h"

namespace fabrail::sim {
namespace {

uint32_t access_of(unsigned flags) {
  uint32_t access = 0;
  if ((flags & IBV_ACCESS_LOCAL_WRITE) != 0) access |= kAccessLocalWrite;
  if ((flags & IBV_ACCESS_REMOTE_WRITE) != 0) access |= kAccessRemoteWrite;
  if ((flags & IBV_ACCESS_REMOTE_READ) != 0) access |= kAccessRemoteRead;
  return access;
}

struct Registration {
  void* memory;  // where the NIC finds the bytes
  uint64_t iova;
  size_t bytes;
  unsigned access;
};

MrHandle* register_memory(ibv_pd* pd, const Registration& wanted) {
  Device& device = *handle_of<PdHandle>(pd)->core;
  if (device.is_lost()) {
    errno = EIO;
    return nullptr;
  }
  const RegionRequest request{wanted.memory, wanted.iova, wanted.bytes, pd->handle,
                              access_of(wanted.access)};
  const uint32_t key = open_region(device.membership(), device.nic(), request);
  if (key == 0) {
    errno = ENOMEM;
    return nullptr;
  }
  count(*device.nic().state, Counter::kRegions);
  auto* handle = new MrHandle;
  handle->core = &device;
  ibv_mr& mr = handle->mr;
  mr.context = pd->context;
  mr.pd = pd;
  mr.addr = reinterpret_cast<void*>(wanted.iova);
  mr.length = wanted.bytes;
  mr.handle = key & 0xffff;
  mr.lkey = mr.rkey = key;
  return handle;
}

ibv_mr* register_address(ibv_pd* pd, void* address, size_t bytes, uint64_t iova, unsigned access) {
  DeviceState& state = *handle_of<PdHandle>(pd)->core->nic().state;
  void* alias = gpu_alias(address, bytes);
  if (alias == nullptr && !is_pinnable(address, bytes)) {
    debug("ibv_reg_mr: the memory cannot be pinned");
    errno = EFAULT;
    return nullptr;
  }
  MrHandle* handle = register_memory(pd, {alias != nullptr ? alias : address, iova, bytes, access});
  if (handle == nullptr) return nullptr;
  if (alias != nullptr) count(state, Counter::kGpuRegions);
  return &handle->mr;
}

}  // namespace
}  // namespace fabrail::sim

using namespace fabrail::sim;

FR_SIM_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* handle = new PdHandle;
  handle->core = context_of(context)->core;
  handle->pd.context = context;
  handle->pd.handle = handle->core->next_pd();
  return &handle->pd;
}

FR_SIM_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  delete handle_of<PdHandle>(pd);
  return 0;
}

FR_SIM_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t bytes, int access) {
  return register_address(pd, address, bytes, reinterpret_cast<uint64_t>(address),
                          static_cast<unsigned>(access));
}

FR_SIM_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t bytes, uint64_t iova,
                                      int access) {
  return register_address(pd, address, bytes, iova, static_cast<unsigned>(access));
}

FR_SIM_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t bytes, uint64_t iova,
                                       unsigned access) {
  return register_address(pd, address, bytes, iova, access);
}

FR_SIM_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t bytes, uint64_t iova,
                                        int fd, int access) {
  const DmabufMapping mapping = map_dmabuf(fd, offset, bytes);
  if (mapping.base == nullptr) return nullptr;
  MrHandle* handle =
      register_memory(pd, {mapping.address, iova, bytes, static_cast<unsigned>(access)});
  if (handle == nullptr) {
    const int code = errno;
    munmap(mapping.base, mapping.mapped_bytes);
    errno = code;
    return nullptr;
  }
  count(*handle->core->nic().state, Counter::kDmabufRegions);
  handle->mapped = mapping.base;
  handle->mapped_bytes = mapping.mapped_bytes;
  return &handle->mr;
}

FR_SIM_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  auto* handle = handle_of<MrHandle>(mr);
  if (!belongs_here(*handle->core)) return 0;
  close_region(handle->core->membership(), handle->core->nic(), mr->lkey);
  if (handle->mapped != nullptr) munmap(handle->mapped, handle->mapped_bytes);
  delete handle;
  return 0;
}

FR_SIM_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  Gid gid{};
  std::copy(std::begin(attributes->grh.dgid.raw), std::end(attributes->grh.dgid.raw), gid.begin());
  const auto address = decode_gid(gid);
  Device& device = *handle_of<PdHandle>(pd)->core;
  if (attributes->is_global == 0 || !address) {
    errno = EINVAL;
    return nullptr;
  }
  const auto number = device.handles().open(*address, device.nic().state->shape.max_ahs.load());
  if (!number) {
    errno = ENOMEM;
    return nullptr;
  }
  auto* handle = new AhHandle;
  handle->core = &device;
  handle->address = *address;
  handle->number = *number;
  handle->ah.context = pd->context;
  handle->ah.pd = pd;
  handle->ah.handle = *number;
  return &handle->ah;
}

FR_SIM_EXPORT int ibv_destroy_ah(ibv_ah* ah) {
  auto* handle = handle_of<AhHandle>(ah);
  if (!belongs_here(*handle->core)) return 0;
  handle->core->handles().close(handle->address);
  delete handle;
  return 0;
}
