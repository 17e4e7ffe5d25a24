// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// NCCL's host code refers to every kernel by a symbol. Here each is an empty function, bound to the
// emulated kernel when the library is loaded; a device compiler would do the same with images.
#include <cstddef>

#include "tests/nccl_e2e/kernels/kernel.h"
#include "tests/nccl_e2e/kernels/nccl_device.h"
#include "tests/sim/gpu/runtime/emugpu_runtime.h"

#if __has_include("symmetric_symbols.inc")
#include <sym_kernels.h>
#define FR_HAS_SYMMETRIC_KERNELS
#endif

// The lists have one FR_KERNEL(name) for each kernel, made from NCCL's own tables.
#define FR_KERNEL(name) \
  __global__ void name(ncclDevKernelArgs4K const) {}
#include "kernel_symbols.inc"
#undef FR_KERNEL

#ifdef FR_HAS_SYMMETRIC_KERNELS
#define FR_KERNEL(name) \
  __global__ void name(ncclSymkDevWorkArgs4K const) {}
#include "symmetric_symbols.inc"
#undef FR_KERNEL
#endif

namespace emunccl {
namespace {

struct Symbol {
  const void* address;
  const char* name;
  emugpu_kernel_fn run;
};

[[maybe_unused]] void refuse_symmetric(const void*, const emugpu_grid*) {
  refuse("kernels on symmetric memory");
}

#define FR_KERNEL(name) {reinterpret_cast<const void*>(&name), #name, run_kernel},
const Symbol kSymbols[] = {
#include "kernel_symbols.inc"
#undef FR_KERNEL
#ifdef FR_HAS_SYMMETRIC_KERNELS
#define FR_KERNEL(name) {reinterpret_cast<const void*>(&name), #name, refuse_symmetric},
#include "symmetric_symbols.inc"
#undef FR_KERNEL
#endif
};

[[gnu::constructor]] void bind_kernels() {
  for (const Symbol& symbol : kSymbols) {
    emugpu_register_kernel(symbol.name, sizeof(ncclDevKernelArgs4K), symbol.run);
    if (emugpu_bind_kernel(symbol.address, symbol.name) != 0) refuse("kernel %s", symbol.name);
  }
}

}  // namespace
}  // namespace emunccl
