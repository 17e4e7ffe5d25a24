// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Hands a topology to NCCL as a file that exists only in memory.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"

namespace fabrail::topology {

/// A sealed memory file, readable under path() in this process and by its children for as long as
/// the object and this process live. Move only.
class TopologyFile {
 public:
  static Result<TopologyFile> open(std::string_view xml);

  TopologyFile(TopologyFile&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  TopologyFile& operator=(TopologyFile&& other) noexcept;
  TopologyFile(const TopologyFile&) = delete;
  TopologyFile& operator=(const TopologyFile&) = delete;
  ~TopologyFile();

  /// `/proc/PID/fd/N`, for NCCL_TOPO_FILE. Not `/proc/self/fd/N`: in a program that this process
  /// starts, which inherits the environment and not the file, N would be any file of its own.
  [[nodiscard]] std::string path() const;

 private:
  explicit TopologyFile(int fd) : fd_(fd) {}

  int fd_ = -1;
};

/// True if `path` (a value of NCCL_TOPO_FILE) was set by this library, in a parent process or in
/// this one before it called exec: nobody chose it, and it may name nothing by now.
bool is_inherited_topology_path(std::string_view path);

}  // namespace fabrail::topology
