// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Failures on request: EMUGPU_FAULTS, or emugpu_set_faults() from a test.
#pragma once

namespace emugpu {

/// What can be made to fail. The spec is a comma list of `name` or `name@N`: from the N-th time on.
enum class Fault {
  kInit,      ///< "init": cuInit answers CUDA_ERROR_NO_DEVICE
  kContext,   ///< "context": no thread has a current context, whatever it bound
  kExport,    ///< "export": dma-buf export answers CUDA_ERROR_NOT_SUPPORTED
  kRegister,  ///< "register": emugpu_alias refuses
  kFlush,     ///< "flush": cuFlushGPUDirectRDMAWrites answers CUDA_ERROR_NOT_SUPPORTED
};

/// Counts one occasion for `fault` and tells whether it must fail now.
bool strikes(Fault fault);

}  // namespace emugpu
