// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Maps shared files; a file gets its name only when its content is complete.
#include "tests/sim/efa/core/shared_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>

namespace fabrail::sim {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

Mapping map_descriptor(int fd, size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return base == MAP_FAILED ? Mapping() : Mapping(base, bytes);
}

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> serial{0};
  return fmt::format("{}.new-{}-{}", path, getpid(), serial++);
}

Mapping create_file(const std::string& path, size_t bytes) {
  const Descriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.ok() || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return {};
  return map_descriptor(fd.get(), bytes);
}

}  // namespace

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this == &other) return *this;
  if (base_ != nullptr) munmap(base_, bytes_);
  base_ = std::exchange(other.base_, nullptr);
  bytes_ = other.bytes_;
  return *this;
}

Mapping::~Mapping() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

Mapping map_existing(const std::string& path, size_t bytes) {
  const Descriptor fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.ok()) return {};
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return {};
  if (static_cast<size_t>(status.st_size) < bytes) {
    errno = EPROTO;
    return {};
  }
  return map_descriptor(fd.get(), bytes);
}

Mapping map_or_create(const std::string& path, size_t bytes,
                      const std::function<void(void*)>& fill) {
  if (Mapping existing = map_existing(path, bytes)) return existing;
  if (errno != ENOENT) return {};
  const std::string temporary = temporary_name(path);
  Mapping fresh = create_file(temporary, bytes);
  if (!fresh) return {};
  fill(fresh.base());
  const bool first = link(temporary.c_str(), path.c_str()) == 0;
  const int code = errno;
  unlink(temporary.c_str());
  if (first) return fresh;
  errno = code;
  return code == EEXIST ? map_existing(path, bytes) : Mapping();
}

Mapping map_fresh(const std::string& path, size_t bytes) {
  const std::string temporary = temporary_name(path);
  Mapping fresh = create_file(temporary, bytes);
  if (!fresh) return {};
  if (rename(temporary.c_str(), path.c_str()) == 0) return fresh;
  unlink(temporary.c_str());
  return {};
}

bool write_text(const std::string& path, const std::string& text) {
  const std::string temporary = temporary_name(path);
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream << text;
    if (!stream.flush()) return false;
  }
  return rename(temporary.c_str(), path.c_str()) == 0;
}

std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

}  // namespace fabrail::sim
