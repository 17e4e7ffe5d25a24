// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/topology_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fabrail::topology {

namespace {

constexpr std::string_view kProc = "/proc/";
constexpr std::string_view kFolder = "/fd/";
constexpr const char* kName = "fabrail-topology";

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

Result<TopologyFile> TopologyFile::open(std::string_view xml) {
  // Not for programs that the job starts: there the number will mean another file.
  TopologyFile file(memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.fd_ < 0) {
    return make_error(Code::kSystem, errno, "memfd_create: %s", std::strerror(errno));
  }
  if (!write_all(file.fd_, xml)) {
    return make_error(Code::kSystem, errno, "writing the topology: %s", std::strerror(errno));
  }
  if (fcntl(file.fd_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return make_error(Code::kSystem, errno, "sealing the topology: %s", std::strerror(errno));
  }
  return file;
}

TopologyFile& TopologyFile::operator=(TopologyFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

TopologyFile::~TopologyFile() {
  if (fd_ >= 0) close(fd_);
}

std::string TopologyFile::path() const {
  // Not getpid(): /proc may be of another pid namespace than this process.
  std::array<char, 32> pid{};
  const ssize_t digits = readlink("/proc/self", pid.data(), pid.size());
  const std::string process = digits > 0 ? std::string(pid.data(), static_cast<std::size_t>(digits))
                                         : std::to_string(getpid());
  return std::string(kProc) + process + std::string(kFolder) + std::to_string(fd_);
}

bool is_inherited_topology_path(std::string_view path) {
  if (!path.starts_with(kProc)) return false;
  path.remove_prefix(kProc.size());
  const std::size_t folder = path.find(kFolder);
  return folder != std::string_view::npos && is_number(path.substr(0, folder)) &&
         is_number(path.substr(folder + kFolder.size()));
}

}  // namespace fabrail::topology
