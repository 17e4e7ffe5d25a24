// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A communicator that has gone through NCCL's own network loader and no further: no GPU needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/nccl/probe/comm_layout.h"
#include "tests/nccl/probe/nccl_library.h"

namespace fabrail::nccl_test {

/// NCCL's side of one communicator's network: opened and closed as ncclCommInitRank() and
/// ncclCommDestroy() do, with a zeroed `struct ncclComm` that ends where CUDA would begin.
class Communicator {
 public:
  /// `comm_hash`  what NCCL derives from the unique id; v11 plugins see it as their commId.
  /// Shape        ncclGetUniqueId() was called before: it reads NCCL's environment and files.
  Communicator(const NcclLibrary& nccl, uint64_t comm_hash);
  Communicator(Communicator&&) = default;

  /// NCCL's result: 0, or 5 (invalid usage) when no network was found.
  int result() const { return result_; }
  /// The function table that NCCL's transport would call, of the release's native ABI; or nullptr.
  const void* table() const;
  /// The table's name, empty without a table.
  std::string network() const;
  /// The ABI version that NCCL took from the plugin.
  int abi() const;
  /// What v11 init() handed out; nullptr before NCCL 2.28.
  void* context() const;
  /// The loader function that was driven.
  const char* door() const { return door_; }

  /// Lets NCCL finalize and perhaps unload the plugin.
  ///
  /// Returns NCCL's result; 0 where the release has nothing to call (before 2.22).
  int close();

 private:
  template <class T>
  T& member(size_t offset) const {
    return *reinterpret_cast<T*>(memory_.get() + offset);
  }
  void configure();
  int open();

  const NcclLibrary* nccl_;
  const CommLayout* layout_;
  std::unique_ptr<char[]> memory_;  // struct ncclComm
  std::unique_ptr<char[]> shared_;  // struct ncclSharedResources
  const char* door_ = "";
  int result_ = 0;
};

}  // namespace fabrail::nccl_test
