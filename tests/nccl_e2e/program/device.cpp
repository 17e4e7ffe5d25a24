// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Thin layer over the CUDA runtime.
#include "tests/nccl_e2e/program/device.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace nccl_test {
namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr char kUntouched = 0x5a;

}  // namespace

void require(ncclResult_t result, const char* what) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, ncclGetErrorString(result), ncclGetLastError(nullptr));
  std::exit(kFailed);
}

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(kFailed);
}

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  require(cudaMalloc(&device_, bytes + kGuardBytes), "cudaMalloc");
}

Buffer::~Buffer() { cudaFree(device_); }

void Buffer::clear() const {
  require(cudaMemset(device_, kUntouched, bytes_ + kGuardBytes), "cudaMemset");
}

std::size_t Buffer::spoiled_guard_bytes() const {
  const std::vector<char> guard = copy_from_device(at(bytes_), kGuardBytes);
  return kGuardBytes - static_cast<std::size_t>(std::count(guard.begin(), guard.end(), kUntouched));
}

std::size_t torn_lines() {
  using Count = std::uint64_t (*)();
  static const auto count = reinterpret_cast<Count>(dlsym(RTLD_DEFAULT, "ncclEmulatedTornLines"));
  return count == nullptr ? 0 : count();
}

void copy_to_device(void* to, const std::vector<char>& from) {
  require(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
}

std::vector<char> copy_from_device(const void* from, std::size_t bytes) {
  std::vector<char> copy(bytes);
  require(cudaMemcpy(copy.data(), from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return copy;
}

}  // namespace nccl_test
