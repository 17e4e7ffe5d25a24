// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Where NCCL's private `struct ncclComm` keeps what its network loader reads and writes, by
// release.
#pragma once

#include <cstddef>

namespace fabrail::nccl_test {

/// Offsets in bytes; kAbsent where the release has no such member.
struct CommLayout {
  static constexpr size_t kAbsent = static_cast<size_t>(-1);

  int version;         ///< as ncclGetVersion() says it
  size_t comm_bytes;   ///< sizeof(struct ncclComm)
  size_t net;          ///< const ncclNet_t* ncclNet: the function table in use
  size_t net_version;  ///< int ncclNetVer: the ABI it was made from (2.26 and newer)
  size_t net_context;  ///< void* netContext: what init() returned (2.28 and newer)
  size_t comm_hash;    ///< uint64_t commHash: the commId that init() receives (2.28 and newer)
  size_t shared;       ///< struct ncclSharedResources* sharedRes
};

/// The layout of exactly this release.
///
/// Errors  Unsupported for a release that the table does not know (see README.md, "A new release").
const CommLayout& comm_layout(int version);

/// The net ABI that this release's transport calls: that of the table in `ncclComm::ncclNet`.
int native_abi(int version);

}  // namespace fabrail::nccl_test
