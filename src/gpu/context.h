// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A device's context on the calling thread, for the length of a scope.
#pragma once

#include "src/gpu/driver.h"

namespace fabrail::gpu {

/// While it lives, a context of the device is the calling thread's current one, and the thread may
/// call what stream capture forbids. What was there before comes back, on every way out.
///
/// NCCL registers memory on service threads that have no context, and on threads that are bound to
/// another device.
///
/// Thread  the one that entered.
class ContextScope {
 public:
  /// Takes the current context if it is of `device`; else retains and pushes the primary context,
  /// which is the one that CUDA's runtime uses.
  ///
  /// Errors  kSystem, naming the CUDA function.   Source  cuDevicePrimaryCtxRetain,
  /// cuCtxPushCurrent.
  static Result<ContextScope> enter(const Driver& driver, int device);

  ContextScope(ContextScope&& other) noexcept;
  ContextScope& operator=(ContextScope&&) = delete;
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope();

 private:
  ContextScope(const Functions& functions, int device);
  Status push(const Driver& driver);

  const Functions* functions_;  // null: another object has taken over
  int device_;
  int capture_mode_;
  bool retained_ = false;
  bool pushed_ = false;
};

}  // namespace fabrail::gpu
