// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/fabric/promises.h"

#include <rdma/fi_errno.h>

#include "src/fabric/compat.h"

namespace fabrail::fabric {

namespace {

int set_flag(fid_ep& endpoint, int option, bool value) {
  return fi_setopt(&endpoint.fid, FI_OPT_ENDPOINT, option, &value, sizeof value);
}

// Refused where libfabric could move device memory with CUDA copies only. Providers that do not
// know the option never copy.
bool forbid_copies(fid_ep& endpoint) {
  const int rc = set_flag(endpoint, compat::kOptCudaApiPermitted, false);
  return rc == 0 || rc == -FI_ENOPROTOOPT || rc == -FI_ENOSYS;
}

}  // namespace

Promises ask_promises(fid_ep& endpoint, const std::string& provider) {
  Promises promises;
  promises.nic_moves_all = forbid_copies(endpoint);
  // Between processes of a machine `efa` would take shared memory, and CUDA's copies with it.
  static_cast<void>(set_flag(endpoint, compat::kOptSharedMemoryPermitted, false));
  if (provider == "efa")
    promises.keeps_128_bytes = set_flag(endpoint, compat::kOptEfaWriteKeeps128Bytes, true) == 0;
  return promises;
}

}  // namespace fabrail::fabric
