// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Owners of libfabric's objects.
#pragma once

#include <memory>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

namespace fabrail::fabric {

struct CloseFid {
  template <typename T>
  void operator()(T* object) const noexcept {
    fi_close(&object->fid);
  }
};

/// Closes the object when it goes. Objects must go in the reverse order of their opening: libfabric
/// answers -FI_EBUSY otherwise, and leaks.
template <typename T>
using Fid = std::unique_ptr<T, CloseFid>;

}  // namespace fabrail::fabric
