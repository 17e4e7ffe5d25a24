// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Sends messages from this process to itself through the table that NCCL handed out, adapters
// included.
#pragma once

#include <cstddef>
#include <vector>

namespace fabrail::nccl_test {

/// The message sizes that loop_back() sends, in order.
const std::vector<int>& loopback_sizes();

/// Connects device 0 to itself, sends every size and compares every byte.
///
/// `table`    of ABI `abi`, with `context` from v11's init().
/// Errors     std::runtime_error that names the call or the message that went wrong.
void loop_back(int abi, const void* table, void* context);

}  // namespace fabrail::nccl_test
