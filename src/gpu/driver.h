// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The CUDA driver, opened when GPU memory is first met: what its devices can do for NICs, and the
// flush.
#pragma once

#include <optional>
#include <string>

#include "src/base/result.h"
#include "src/gpu/functions.h"

namespace fabrail::gpu {

/// What one GPU says of its memory and NICs.
struct DeviceFacts {
  int ordinal = 0;
  std::string pci_address;  ///< 0000:53:00.0
  int compute_major = 0;
  int compute_minor = 0;
  bool gpudirect = false;      ///< NICs can be given its memory
  bool dmabuf = false;         ///< its memory can be exported as a dma-buf
  bool flush_by_host = false;  ///< flush() works
  bool orders_writes = false;  ///< its kernels see NICs' writes in order without a flush
};

/// The driver of this process.
///
/// Thread  any. A copy is as good as the original: the library stays loaded.
class Driver {
 public:
  /// Opens and initialises the driver.
  ///
  /// Errors  kUnsupported, in a sentence that says why NICs cannot reach GPU memory here: no
  /// driver, too old a driver, no device.   Source  cuInit.
  static Result<Driver> open(const std::string& file = "libcuda.so.1");

  [[nodiscard]] int version() const { return functions_.version; }
  [[nodiscard]] const std::string& path() const { return functions_.path; }
  [[nodiscard]] const Functions& functions() const { return functions_; }

  Result<int> device_count() const;
  /// The device whose context is current on this thread.
  [[nodiscard]] std::optional<int> current_device() const;
  /// Errors  kSystem, naming the CUDA function.   Source  cuDeviceGetAttribute.
  Result<DeviceFacts> device(int ordinal) const;

  /// Makes what NICs have written to a device's memory visible to its kernels. Waits for it: some
  /// microseconds.
  ///
  /// Shape   the device's flush_by_host.   Errors  kSystem.   Source  cuFlushGPUDirectRDMAWrites.
  Status flush(int device) const;

  /// The Error for a failed call: its name, the code and name of the failure, what it was for, and
  /// what to do.
  [[nodiscard]] Error failure(const char* function, cuda::Code code,
                              const std::string& purpose) const;

 private:
  explicit Driver(Functions functions) : functions_(std::move(functions)) {}
  Functions functions_;
};

}  // namespace fabrail::gpu
