// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Kernels are known by name: their behaviour is registered C++ code, no image is ever looked at.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tests/sim/gpu/driver/context.h"
#include "tests/sim/gpu/driver/cuda_public.h"
#include "tests/sim/gpu/driver/log.h"
#include "tests/sim/gpu/driver/stream.h"
#include "tests/sim/gpu/emugpu.h"

using namespace emugpu;

namespace {

// CUDA's limit for the parameters of a kernel, before large parameters came with 12.1.
constexpr std::size_t kMaxArgumentBytes = 4096;
struct alignas(16) Arguments {
  std::array<char, kMaxArgumentBytes> bytes{};
};

struct Kernel {
  std::string name;
  std::size_t argument_bytes;
  emugpu_kernel_fn run;
  std::map<int, int> attributes;
};

struct Kernels {
  std::mutex mutex;
  std::map<std::string, Kernel> by_name;
};
Kernels& kernels() {
  static Kernels& only = *new Kernels;
  return only;
}

Kernel* kernel_of(CUfunction handle) { return reinterpret_cast<Kernel*>(handle); }

int default_attribute(int attribute) {
  const ComputeCapability cc = settings().compute_capability;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 640;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return 96;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return cc.major * 10 + cc.minor;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return 48 << 10;
    default:
      return 0;
  }
}

// The parameter comes through one of two doors: a list of pointers, or one buffer with its size.
struct Parameter {
  const void* from;
  std::size_t bytes;
};
Parameter first_parameter(const Kernel& kernel, void** list, void** extra) {
  Parameter p{list == nullptr ? nullptr : list[0], kernel.argument_bytes};
  for (void** entry = extra; entry != nullptr && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (entry[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) p.from = entry[1];
    if (entry[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      p.bytes = std::min(p.bytes, *static_cast<std::size_t*>(entry[1]));
    }
  }
  return p;
}

CUresult launch(const Kernel& kernel, const emugpu_grid& grid, CUstream handle, void** list,
                void** extra) {
  Stream* stream = stream_of(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  log(kLogLaunch, "launch %s, %u blocks", kernel.name.c_str(), grid.blocks[0]);
  const Parameter parameter = first_parameter(kernel, list, extra);
  auto arguments = std::make_shared<Arguments>();
  if (parameter.from != nullptr) {
    std::memcpy(arguments->bytes.data(), parameter.from, parameter.bytes);
  }
  submit(stream, [arguments, grid, run = kernel.run] { run(arguments->bytes.data(), &grid); });
  return CUDA_SUCCESS;
}

}  // namespace

void emugpu_register_kernel(const char* name, std::size_t argument_bytes, emugpu_kernel_fn fn) {
  Kernels& all = kernels();
  const std::lock_guard lock(all.mutex);
  all.by_name[name] = Kernel{name, std::min(argument_bytes, kMaxArgumentBytes), fn, {}};
}

void* emugpu_find_kernel(const char* name) {
  Kernels& all = kernels();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : &found->second;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  trace(__func__);
  const std::lock_guard lock(kernels().mutex);
  const auto& set = kernel_of(function)->attributes;
  const auto found = set.find(attribute);
  *value = found == set.end() ? default_attribute(attribute) : found->second;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  trace(__func__);
  const std::lock_guard lock(kernels().mutex);
  kernel_of(function)->attributes[attribute] = value;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned blocks_x, unsigned blocks_y,
                        unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                        unsigned threads_z, unsigned shared_bytes, CUstream stream, void** list,
                        void** extra) {
  trace(__func__);
  const emugpu_grid grid{
      {blocks_x, blocks_y, blocks_z}, {threads_x, threads_y, threads_z}, shared_bytes};
  return launch(*kernel_of(function), grid, stream, list, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** list,
                          void** extra) {
  trace(__func__);
  const emugpu_grid grid{{config->gridDimX, config->gridDimY, config->gridDimZ},
                         {config->blockDimX, config->blockDimY, config->blockDimZ},
                         config->sharedMemBytes};
  return launch(*kernel_of(function), grid, config->hStream, list, extra);
}
