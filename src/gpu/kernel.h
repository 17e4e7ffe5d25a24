// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What this machine's kernel says of NICs and GPU memory.
#pragma once

#include <string>

namespace fabrail::gpu {

struct KernelFacts {
  bool dmabuf = false;      ///< NICs can register dma-bufs: Linux 5.12
  std::string peer_memory;  ///< the loaded module that gives NICs GPU memory; empty: none is seen
};

/// Reads them below `root`, which is "/" but in tests.
///
/// No module proves nothing: EFA drivers may have the same inside.
KernelFacts read_kernel_facts(const std::string& root);

}  // namespace fabrail::gpu
