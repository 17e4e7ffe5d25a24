// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Whether NCCL's protocols LL and LL128 are safe on a path: with them a kernel polls words inside
// the data while it arrives.
#pragma once

#include "src/gpu/path.h"

namespace fabrail::gpu {

struct ProtocolInputs {
  bool device_memory = false;  ///< NICs reach GPU memory
  std::string provider;
  bool push = true;  ///< data arrives by writes; false: the receiver reads it
  /// The NIC promises that a write's aligned 128 bytes arrive whole and in order.
  bool keeps_128_bytes = false;
};

struct ProtocolDecision {
  Verdict ll;     ///< needs aligned 8 bytes whole
  Verdict ll128;  ///< needs aligned 128 bytes whole, or bytes in rising order

  /// For NCCL_PROTO, if the user left it alone: "", "^LL128" or "Simple".
  [[nodiscard]] const char* nccl_proto() const;
};

/// All ranks must come to the same: give it what is the same on all, the worst rail's inputs.
ProtocolDecision decide_protocols(const ProtocolInputs& inputs);

}  // namespace fabrail::gpu
