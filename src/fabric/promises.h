// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What an endpoint promises of the bytes it moves, where device memory is to be reached.
#pragma once

#include <string>

#include <rdma/fi_endpoint.h>

namespace fabrail::fabric {

/// Nothing is true that was not said.
struct Promises {
  /// Aligned 128 bytes of a write arrive whole and in order.
  bool keeps_128_bytes = false;
  /// Device memory is touched by the NIC only; false: perhaps by CUDA copies of the provider.
  bool nic_moves_all = false;
};

/// Sets up an endpoint for device memory, and asks what it promises. Before fi_enable().
///
/// `provider`  libfabric's name.   Source  fi_endpoint(3), fi_efa(7).
Promises ask_promises(fid_ep& endpoint, const std::string& provider);

}  // namespace fabrail::fabric
