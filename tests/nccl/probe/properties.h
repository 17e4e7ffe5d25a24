// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What getProperties() answers, as JSON, and which fields it forgot to write.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace fabrail::nccl_test {

/// Device 0 through a table of ABI `abi`: {"properties": {field: value}, "unwritten": [field]}.
///
/// A field counts as unwritten if any of its bytes keeps what the struct held before the call: NCCL
/// passes an uninitialised one.
nlohmann::json describe_device(int abi, const void* table);

/// What devices() says.
int count_devices(int abi, const void* table);

}  // namespace fabrail::nccl_test
