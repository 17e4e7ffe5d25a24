// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/observe/counter_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fabrail::observe {

namespace {

constexpr std::size_t kBytes = FABRAIL_COUNTERS_LANES * sizeof(fabrail_counters_t);

std::string expand(std::string path) {
  if (const std::size_t at = path.find("%p"); at != std::string::npos) {
    path.replace(at, 2, std::to_string(getpid()));
  }
  return path;
}

Error failure(const std::string& path) {
  const int cause = errno;
  return make_error(
      Code::kSystem, cause,
      "the counter file %s (FABRAIL_COUNTERS) cannot be used: %s; counting in private memory",
      path.c_str(), std::strerror(cause));
}

void* map(int fd) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  return mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, fd, 0);
}

}  // namespace

void CounterPage::Unmap::operator()(fabrail_counters_t* page) const noexcept {
  munmap(page, kBytes);
}

Result<CounterPage> CounterPage::open(const std::string& path) {
  int fd = -1;
  const std::string file = expand(path);
  if (!path.empty()) {
    fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return failure(file);
    // The room is taken now: a full file system must not become a signal in the middle of a job.
    if ((errno = posix_fallocate(fd, 0, static_cast<off_t>(kBytes))) != 0) {
      const Error error = failure(file);
      ::close(fd);
      return error;
    }
  }
  void* memory = map(fd);
  const Error error = memory == MAP_FAILED ? failure(file) : Error{};
  if (fd >= 0) ::close(fd);
  if (memory == MAP_FAILED) return error;
  CounterPage page;
  page.page_.reset(static_cast<fabrail_counters_t*>(memory));
  std::memset(memory, 0, kBytes);
  return page;
}

fabrail_counters_t& CounterPage::lane(std::size_t device) {
  fabrail_counters_t& block = page_.get()[device];
  block.version = FABRAIL_COUNTERS_VERSION;
  block.pid = static_cast<std::uint32_t>(getpid());
  block.magic = FABRAIL_COUNTERS_MAGIC;
  return block;
}

}  // namespace fabrail::observe
