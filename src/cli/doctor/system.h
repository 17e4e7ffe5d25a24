// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The one door to the machine: every check reads files, links and the environment through it.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabrail::doctor {

/// A machine, a container image or a made-up root folder, with the environment of the job.
///
/// Paths are absolute as the job sees them. Symbolic links are followed as if `root` were `/`, so
/// that an absolute link of an image stays inside the image. Nothing is executed or changed.
struct System {
  std::string root = "/";
  std::map<std::string, std::string, std::less<>> environment;

  /// Opens a device file (path on this machine) for reading and writing, closes it again, and
  /// returns the errno, 0 if it could be opened.
  std::function<int(const std::string& path)> open_device;

  /// Waits so that counters can move between two readings.
  std::function<void(double seconds)> wait;

  /// What the kernel says about resources in use on verbs devices (rdma_resources.h); may be null.
  std::function<std::string()> rdma_resources;

  /// What libfabric and NVML answer (library_answers.h); may be null.
  std::function<std::string()> libfabric;
  std::function<std::string()> nvml;

  /// The machine that this process runs on (or the tree below `root`), with `environment`.
  static System below(std::string root,
                      std::map<std::string, std::string, std::less<>> environment);

  /// The value of an environment variable, if it is set (possibly empty).
  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const;

  /// `path` with all links followed, none if nothing is there.
  [[nodiscard]] std::optional<std::string> resolve(std::string_view path) const;

  /// Where `path` lies on this machine, links followed; none if nothing is there.
  [[nodiscard]] std::optional<std::filesystem::path> on_host(std::string_view path) const;

  /// Whether a file or folder is there.
  [[nodiscard]] bool exists(std::string_view path) const;
  [[nodiscard]] bool is_folder(std::string_view path) const;

  /// At most `limit` bytes from the beginning of a file; none if it cannot be read.
  [[nodiscard]] std::optional<std::string> read(std::string_view path,
                                                std::size_t limit = std::size_t{1} << 20) const;

  /// The last `limit` bytes of a file; none if it cannot be read.
  [[nodiscard]] std::optional<std::string> read_end(std::string_view path, std::size_t limit) const;

  /// The first line of a file without white space around it; none if it cannot be read.
  [[nodiscard]] std::optional<std::string> line(std::string_view path) const;

  /// The names in a folder, sorted; none if it is missing.
  [[nodiscard]] std::vector<std::string> list(std::string_view path) const;
};

/// The variables of a process in the form of `environ` or /proc/PID/environ: NAME=VALUE.
std::map<std::string, std::string, std::less<>> environment_from(
    const std::vector<std::string>& entries);

}  // namespace fabrail::doctor
