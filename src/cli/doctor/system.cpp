// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/system.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "src/cli/doctor/library_answers.h"
#include "src/cli/doctor/rdma_resources.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLinks = 40;  // as the kernel: more is a loop

int open_and_close(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno;
  ::close(file);
  return 0;
}

void wait_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Puts the components of `path` on top of `pending`, which is worked off from its end.
void push_components(std::string_view path, std::vector<std::string>& pending) {
  std::vector<std::string> parts = split(path, '/');
  std::reverse(parts.begin(), parts.end());
  for (std::string& part : parts) {
    if (!part.empty() && part != ".") pending.push_back(std::move(part));
  }
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Reads until the end, the limit, or nothing more for now (the kernel log has no end).
std::string read_all(int file, std::size_t limit) {
  std::string text;
  while (text.size() < limit) {
    char piece[16384];
    const std::size_t want = std::min(sizeof piece, limit - text.size());
    const ssize_t got = ::read(file, piece, want);
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

std::optional<std::string> read_host_file(const fs::path& path, std::size_t limit, bool from_end) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  if (from_end) {
    const off_t size = ::lseek(file, 0, SEEK_END);
    const off_t start = std::max<off_t>(0, size - static_cast<off_t>(limit));
    ::lseek(file, start, SEEK_SET);
  }
  std::string text = read_all(file, limit);
  ::close(file);
  return text;
}

}  // namespace

System System::below(std::string root,
                     std::map<std::string, std::string, std::less<>> environment) {
  System system{.root = std::move(root),
                .environment = std::move(environment),
                .open_device = open_and_close,
                .wait = wait_seconds,
                .rdma_resources = {},
                .libfabric = {},
                .nvml = {}};
  // The kernel and the libraries of this machine know nothing about an image.
  if (system.root != "/") return system;
  system.rdma_resources = ask_rdma_resources;
  system.libfabric = ask_libfabric;
  system.nvml = ask_nvml;
  return system;
}

std::optional<std::string> System::variable(std::string_view name) const {
  const auto found = environment.find(name);
  if (found == environment.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> System::resolve(std::string_view path) const {
  std::vector<std::string> pending;
  push_components(path, pending);
  std::string done;  // "" is the root itself
  int links = 0;
  while (!pending.empty()) {
    const std::string part = std::move(pending.back());
    pending.pop_back();
    if (part == "..") {
      done = parent_of(done);
      continue;
    }
    const std::string next = done + "/" + part;
    std::error_code error;
    const fs::file_status status = fs::symlink_status(root + next, error);
    if (!fs::exists(status)) return std::nullopt;
    if (!fs::is_symlink(status)) {
      done = next;
      continue;
    }
    const std::string target = fs::read_symlink(root + next, error).string();
    if (error || ++links > kMostLinks) return std::nullopt;
    if (target.starts_with('/')) done.clear();
    push_components(target, pending);
  }
  return done.empty() ? "/" : done;
}

std::optional<fs::path> System::on_host(std::string_view path) const {
  const auto resolved = resolve(path);
  if (!resolved) return std::nullopt;
  return fs::path(root + *resolved);
}

bool System::exists(std::string_view path) const { return resolve(path).has_value(); }

bool System::is_folder(std::string_view path) const {
  const auto host = on_host(path);
  std::error_code error;
  return host && fs::is_directory(*host, error);
}

std::optional<std::string> System::read(std::string_view path, std::size_t limit) const {
  const auto host = on_host(path);
  if (!host) return std::nullopt;
  return read_host_file(*host, limit, false);
}

std::optional<std::string> System::read_end(std::string_view path, std::size_t limit) const {
  const auto host = on_host(path);
  if (!host) return std::nullopt;
  return read_host_file(*host, limit, true);
}

std::optional<std::string> System::line(std::string_view path) const {
  const auto text = read(path, 4096);
  if (!text) return std::nullopt;
  return std::string(trim(std::string_view(*text).substr(0, text->find('\n'))));
}

std::vector<std::string> System::list(std::string_view path) const {
  std::vector<std::string> names;
  const auto host = on_host(path);
  if (!host) return names;
  std::error_code error;
  for (fs::directory_iterator entry(*host, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::map<std::string, std::string, std::less<>> environment_from(
    const std::vector<std::string>& entries) {
  std::map<std::string, std::string, std::less<>> environment;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

}  // namespace fabrail::doctor
