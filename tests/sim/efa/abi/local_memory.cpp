// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Finds out what can be registered and where the bytes are.
#include "tests/sim/efa/abi/local_memory.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "tests/sim/efa/core/device_memory.h"

namespace fabrail::sim {
namespace {

constexpr uint64_t kPage = 4096;

using Alias = void* (*)(const void*, size_t);

template <typename Function>
Function find(void* driver, const char* name) {
  return reinterpret_cast<Function>(dlsym(driver, name));
}

/// Looks for the emulated GPU's driver until it is there, and tells it from then on what NICs do.
/// Its handle is kept, since its functions are called later on.
Alias find_gpu() {
  static std::atomic<Alias> found{nullptr};
  Alias alias = found.load(std::memory_order_acquire);
  if (alias != nullptr) return alias;
  // libfabric and net plugins load the driver RTLD_LOCAL: a global look-up would not find it.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  alias = find<Alias>(driver, "emugpu_alias");
  if (alias == nullptr) {
    dlclose(driver);
    return nullptr;
  }
  connect_device_memory(find<DeviceMemoryCall>(driver, "emugpu_nic_wrote"),
                        find<DeviceMemoryCall>(driver, "emugpu_nic_read"));
  found.store(alias, std::memory_order_release);
  return alias;
}

/// Reads a byte of every page, as pinning would touch them.
bool can_read_pages(uint64_t start, uint64_t pages) {
  constexpr size_t kBatch = 512;
  std::array<char, kBatch> bytes{};
  std::array<iovec, kBatch> theirs{};
  while (pages != 0) {
    const size_t count = std::min<uint64_t>(kBatch, pages);
    for (size_t i = 0; i < count; ++i) theirs[i] = {reinterpret_cast<void*>(start + i * kPage), 1};
    const iovec ours{bytes.data(), count};
    const ssize_t got = process_vm_readv(getpid(), &ours, 1, theirs.data(), count, 0);
    if (got < 0 && errno != EFAULT) return true;  // not permitted: no way to know
    if (got != static_cast<ssize_t>(count)) return false;
    start += count * kPage;
    pages -= count;
  }
  return true;
}

}  // namespace

void* gpu_alias(const void* address, size_t bytes) {
  const Alias alias = find_gpu();
  return alias == nullptr ? nullptr : alias(address, bytes);
}

bool is_pinnable(const void* address, size_t bytes) {
  const auto first = reinterpret_cast<uint64_t>(address);
  const uint64_t last = first + (bytes == 0 ? 0 : bytes - 1);
  const uint64_t start = first & ~(kPage - 1);
  const uint64_t span = (last & ~(kPage - 1)) + kPage - start;
#ifdef MADV_POPULATE_READ
  if (madvise(reinterpret_cast<void*>(start), span, MADV_POPULATE_READ) == 0) return true;
  if (errno == EFAULT || errno == ENOMEM) return false;
#endif
  return can_read_pages(start, span / kPage);  // an old kernel, or a page that may not be read
}

DmabufMapping map_dmabuf(int fd, uint64_t offset, size_t bytes) {
  find_gpu();  // the memory behind it may be device memory
  // An emulated dma-buf is a memfd whose file position is where the exported range begins.
  const off_t position = lseek(fd, 0, SEEK_CUR);
  struct stat status {};
  if (position < 0 || fstat(fd, &status) != 0) {
    errno = EBADF;
    return {};
  }
  offset += static_cast<uint64_t>(position);
  const auto size = static_cast<uint64_t>(status.st_size);
  if (bytes == 0 || offset > size || bytes > size - offset) {
    errno = EINVAL;
    return {};
  }
  const uint64_t start = offset & ~(kPage - 1);
  const size_t mapped = bytes + (offset - start);
  void* base =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(start));
  if (base == MAP_FAILED) return {};
  return {base, mapped, static_cast<std::byte*>(base) + (offset - start)};
}

}  // namespace fabrail::sim
