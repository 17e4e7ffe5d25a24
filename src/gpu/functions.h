// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The CUDA driver's functions, looked up at run time: the plugin never links to the driver.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/gpu/cuda_abi.h"

namespace fabrail::gpu {

/// What is called of the driver. All are there, but `get_handle` in drivers before CUDA 11.7.
struct Functions {
  std::string path;  ///< resolved file
  int version = 0;   ///< of CUDA, as 1000 * major + 10 * minor

  cuda::Code (*init)(unsigned flags) = nullptr;
  cuda::Code (*error_name)(cuda::Code, const char** name) = nullptr;
  cuda::Code (*device_count)(int* count) = nullptr;
  cuda::Code (*device_attribute)(int* value, cuda::DeviceAttribute, int device) = nullptr;
  cuda::Code (*retain_primary)(cuda::Context*, int device) = nullptr;
  cuda::Code (*release_primary)(int device) = nullptr;
  cuda::Code (*get_current)(cuda::Context*) = nullptr;
  cuda::Code (*push_current)(cuda::Context) = nullptr;
  cuda::Code (*pop_current)(cuda::Context*) = nullptr;
  cuda::Code (*current_device)(int* device) = nullptr;
  cuda::Code (*exchange_capture_mode)(int* mode) = nullptr;
  cuda::Code (*pointer_attributes)(unsigned count, cuda::PointerAttribute*, void** values,
                                   cuda::Address) = nullptr;
  cuda::Code (*retain_handle)(cuda::AllocationHandle*, void* address) = nullptr;
  cuda::Code (*release_handle)(cuda::AllocationHandle) = nullptr;
  cuda::Code (*allocate)(cuda::Address*, std::size_t bytes) = nullptr;
  cuda::Code (*free)(cuda::Address) = nullptr;
  cuda::Code (*get_handle)(void* handle, cuda::Address, std::size_t bytes, int type,
                           unsigned long long flags) = nullptr;
  cuda::Code (*flush_writes)(int target, int scope) = nullptr;
};

/// Opens the driver's library and finds its functions; calls none but cuDriverGetVersion. The
/// library stays loaded for the life of the process.
///
/// Errors  kUnsupported: no such library, not a driver, or too old a one; with what to do.
Result<Functions> open_functions(const std::string& file);

/// "12.4" for 12040.
std::string cuda_version_text(int version);

}  // namespace fabrail::gpu
