// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The public driver header, its functions exported from this library.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include <cstdint>

namespace emugpu {

/// A device address as the pointer that the emulator's tables are keyed by.
inline void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}
inline CUdeviceptr device_pointer(const void* address) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(address));
}

}  // namespace emugpu
