// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/gpu/context.h"

#include <utility>

namespace fabrail::gpu {

ContextScope::ContextScope(const Functions& functions, int device)
    : functions_(&functions), device_(device), capture_mode_(cuda::kCaptureRelaxed) {
  // While any thread captures a graph, calls like cuMemAlloc would end that capture.
  functions_->exchange_capture_mode(&capture_mode_);
}

ContextScope::ContextScope(ContextScope&& other) noexcept
    : functions_(std::exchange(other.functions_, nullptr)),
      device_(other.device_),
      capture_mode_(other.capture_mode_),
      retained_(other.retained_),
      pushed_(other.pushed_) {}

ContextScope::~ContextScope() {
  if (functions_ == nullptr) return;
  cuda::Context ours = nullptr;
  if (pushed_) functions_->pop_current(&ours);
  if (retained_) functions_->release_primary(device_);
  functions_->exchange_capture_mode(&capture_mode_);
}

Result<ContextScope> ContextScope::enter(const Driver& driver, int device) {
  ContextScope scope(driver.functions(), device);
  if (driver.current_device() != device) FR_TRY(scope.push(driver));
  return scope;
}

Status ContextScope::push(const Driver& driver) {
  const std::string purpose = "device " + std::to_string(device_);
  cuda::Context primary = nullptr;
  cuda::Code code = functions_->retain_primary(&primary, device_);
  if (code != cuda::kSuccess) return driver.failure("cuDevicePrimaryCtxRetain", code, purpose);
  retained_ = true;
  code = functions_->push_current(primary);
  if (code != cuda::kSuccess) return driver.failure("cuCtxPushCurrent", code, purpose);
  pushed_ = true;
  return {};
}

}  // namespace fabrail::gpu
