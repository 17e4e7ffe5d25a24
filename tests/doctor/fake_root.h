// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Makes root folders that look like GPU instances with EFA, to be broken one piece at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "src/cli/doctor/system.h"
#include "tests/doctor/elf_writer.h"

namespace fabrail::doctor {

/// A temporary folder that stands for /, with the environment of a job. Removed in the end.
class FakeRoot {
 public:
  FakeRoot();
  ~FakeRoot();
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& path, std::string_view text) const;
  void link(const std::string& path, const std::string& target) const;
  /// Removes a file or a whole folder that must be there.
  void remove(const std::string& path) const;
  void library(const std::string& path, const LibrarySpec& spec) const;

  /// The folder and environment; devices in `unopenable` (names of nodes) give this errno.
  System system() const;
  const std::filesystem::path& path() const { return path_; }

  std::map<std::string, std::string, std::less<>> environment;
  std::map<std::string, int> unopenable;
  std::string rdma_resources;  ///< what the kernel answers
  std::string libfabric;       ///< what libfabric answers
  std::string nvml;            ///< what NVML answers

 private:
  std::filesystem::path path_;
};

/// What stands in a fake machine.
struct FakeMachine {
  std::string type;
  int nics = 0;
  int gpus = 0;
  std::string efa_device = "0xefa1";
};

/// A p6-b200.48xlarge with fabrail, on which there is nothing to complain about.
void make_healthy(FakeRoot& root);

/// Hardware, kernel and limits only.
void make_hardware(const FakeRoot& root, const FakeMachine& machine);

/// Libraries and settings only; an image.
void make_software(FakeRoot& root);

/// Takes fabrail out and puts aws-ofi-nccl of this version in.
void use_aws_plugin(FakeRoot& root, const std::string& version);

/// Puts another NCCL in.
void use_nccl(const FakeRoot& root, const std::string& version);

/// Puts another libfabric into /opt/amazon/efa.
void use_libfabric(const FakeRoot& root, const std::string& version);

/// The libfabric of a distribution at `path`.
LibrarySpec libfabric_spec(const std::string& version, bool cuda, bool efa = true);

/// The kernel's answer that so many queue pairs are in use on a verbs device.
std::string rdma_answer(const std::string& device, std::uint64_t queue_pairs);

/// Puts a second verbs device, which is no EFA, beside the others.
void add_foreign_device(const FakeRoot& root);

}  // namespace fabrail::doctor
