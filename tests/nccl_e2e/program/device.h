// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Device memory, and what happens when a call fails.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstddef>
#include <vector>

namespace nccl_test {

inline constexpr int kWrongValues = 1;  ///< exit status: results were not what they must be
inline constexpr int kFailed = 3;       ///< exit status: a call failed

/// Ends the process with a message if the call failed.
void require(ncclResult_t result, const char* what);
void require(cudaError_t error, const char* what);

/// Device memory with a guard behind it that nothing may touch.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] char* at(std::size_t offset) const { return static_cast<char*>(device_) + offset; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void clear() const;
  [[nodiscard]] std::size_t spoiled_guard_bytes() const;

 private:
  void* device_ = nullptr;
  std::size_t bytes_;
};

/// Lines of LL and LL128 whose flag came before their data, as the emulated kernels of this process
/// have found so far; real ones cannot tell.
std::size_t torn_lines();

void copy_to_device(void* to, const std::vector<char>& from);
std::vector<char> copy_from_device(const void* from, std::size_t bytes);

}  // namespace nccl_test
