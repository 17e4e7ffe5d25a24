// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/perf/gpu_memory.h"

#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "src/cli/common/failure.h"

namespace fabrail::cli::perf {
namespace {

using Address = unsigned long long;  // CUdeviceptr
constexpr int kDmabufFd = 1;         // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD

Address address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

GpuMemory::GpuMemory(int device) : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) throw Failure(std::string("no GPU memory: ") + dlerror());
  int count = 0;
  call("cuInit", 0u);
  call("cuDeviceGetCount", &count);
  if (count == 0) throw Failure("no GPU memory: the driver shows no GPU");
  call("cuDevicePrimaryCtxRetain", &context_, device % count);
  call("cuCtxSetCurrent", context_);
}

template <class... Arguments>
void GpuMemory::call(const char* name, Arguments... arguments) const {
  void* const found = dlsym(library_, name);
  if (found == nullptr) throw Failure(std::string("the CUDA driver has no ") + name);
  const int code = reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
  if (code != 0) throw Failure(std::string(name) + " failed with " + std::to_string(code));
}

// A thread that calls for the first time has no context.
template <class... Arguments>
void GpuMemory::call_in_context(const char* name, Arguments... arguments) const {
  call("cuCtxSetCurrent", context_);
  call(name, arguments...);
}

std::byte* GpuMemory::allocate(size_t bytes) const {
  Address address = 0;
  call_in_context("cuMemAlloc_v2", &address, bytes);
  // A number to CUDA, a pointer to NCCL.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address));
}

void GpuMemory::release(std::byte* memory) const {
  call_in_context("cuMemFree_v2", address_of(memory));
}

void GpuMemory::write(std::byte* to, const void* from, size_t bytes) const {
  if (bytes != 0) call_in_context("cuMemcpyHtoD_v2", address_of(to), from, bytes);
}

void GpuMemory::read(void* to, const std::byte* from, size_t bytes) const {
  if (bytes != 0) call_in_context("cuMemcpyDtoH_v2", to, address_of(from), bytes);
}

void GpuMemory::fill(std::byte* to, std::byte value, size_t bytes) const {
  if (bytes == 0) return;
  call_in_context("cuMemsetD8_v2", address_of(to), static_cast<unsigned char>(value), bytes);
}

GpuMemory::Dmabuf GpuMemory::export_dmabuf(const std::byte* address, size_t bytes) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t before = address_of(address) % page;
  const size_t whole = (before + bytes + page - 1) / page * page;
  Dmabuf dmabuf{.fd = -1, .offset = before};
  call_in_context("cuMemGetHandleForAddressRange", static_cast<void*>(&dmabuf.fd),
                  address_of(address) - before, whole, kDmabufFd, 0ull);
  return dmabuf;
}

}  // namespace fabrail::cli::perf
