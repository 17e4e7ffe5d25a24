// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Copies and fills, as work of a stream over the CPU's view of both ends.
#include <cstring>
#include <vector>

#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/driver/memory.h"
#include "tests/sim/gpu/driver/stream.h"

using namespace emugpu;

namespace {

enum class Return { kWhenDone, kAtOnce };

bool is_pageable(const void* address) { return !memory().find(address); }

StreamPoint submit_copy(Stream* stream, void* to, const void* from, std::size_t bytes) {
  return submit(stream, [=] { std::memmove(to, from, bytes); });
}

StreamPoint submit_copy_of(Stream* stream, void* to, const void* from, std::size_t bytes) {
  const auto* first = static_cast<const char*>(from);
  return submit(stream, [to, kept = std::vector<char>(first, first + bytes)] {
    std::memcpy(to, kept.data(), kept.size());
  });
}

// CUDA's rules for pageable host memory: such a source has been read when the call returns (NCCL
// copies from stack variables), and such a destination makes the call synchronous.
CUresult copy(void* to, const void* from, std::size_t bytes, CUstream handle, Return when) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const bool to_pageable = is_pageable(to);
  const bool wait = when == Return::kWhenDone || to_pageable;
  const bool keep = !wait && is_pageable(from);
  const auto put = keep ? submit_copy_of : submit_copy;
  const StreamPoint done = put(stream, alias_of(to), alias_of(from), bytes);
  if (wait) wait_for(done);
  return CUDA_SUCCESS;
}

CUresult fill(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream handle,
              Return when) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  void* target = alias_of(pointer(to));
  const StreamPoint done = submit(stream, [=] { std::memset(target, value, bytes); });
  if (when == Return::kWhenDone) wait_for(done);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  trace(__func__);
  return copy(pointer(to), pointer(from), bytes, nullptr, Return::kWhenDone);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  trace(__func__);
  return copy(pointer(to), pointer(from), bytes, stream, Return::kAtOnce);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  trace(__func__);
  return copy(pointer(to), from, bytes, nullptr, Return::kWhenDone);
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  trace(__func__);
  return copy(to, pointer(from), bytes, nullptr, Return::kWhenDone);
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  trace(__func__);
  return copy(pointer(to), pointer(from), bytes, nullptr, Return::kWhenDone);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  trace(__func__);
  return copy(pointer(to), from, bytes, stream, Return::kAtOnce);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  trace(__func__);
  return copy(to, pointer(from), bytes, stream, Return::kAtOnce);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  trace(__func__);
  return copy(pointer(to), pointer(from), bytes, stream, Return::kAtOnce);
}
CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t bytes) {
  trace(__func__);
  return fill(to, value, bytes, nullptr, Return::kWhenDone);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  trace(__func__);
  return fill(to, value, bytes, stream, Return::kAtOnce);
}
