// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/gpu/probe_buffer.h"

#include <utility>

#include "src/gpu/context.h"

namespace fabrail::gpu {

Result<ProbeBuffer> ProbeBuffer::open(const Driver& driver, int device) {
  ProbeBuffer buffer(driver, device);
  FR_TRY(buffer.retain_context());
  FR_TRY_ASSIGN(const auto context, ContextScope::enter(driver, device));
  cuda::Address address = 0;
  const cuda::Code code = driver.functions().allocate(&address, kBytes);
  if (code != cuda::kSuccess)
    return driver.failure("cuMemAlloc", code, "a probe on device " + std::to_string(device));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a device address
  buffer.bytes_ = {reinterpret_cast<std::byte*>(address), kBytes};
  buffer.dmabuf_.emplace(export_dmabuf(driver, buffer.bytes_.data(), kBytes));
  return buffer;
}

// Memory goes with its context, and perhaps nobody else keeps that.
Status ProbeBuffer::retain_context() {
  cuda::Context context = nullptr;
  const cuda::Code code = driver_.functions().retain_primary(&context, device_);
  if (code != cuda::kSuccess)
    return driver_.failure("cuDevicePrimaryCtxRetain", code,
                           "a probe on device " + std::to_string(device_));
  retained_ = true;
  return {};
}

ProbeBuffer::ProbeBuffer(ProbeBuffer&& other) noexcept
    : driver_(std::move(other.driver_)),
      device_(other.device_),
      retained_(std::exchange(other.retained_, false)),
      bytes_(std::exchange(other.bytes_, {})),
      dmabuf_(std::move(other.dmabuf_)) {}

ProbeBuffer::~ProbeBuffer() {
  if (!bytes_.empty()) {
    const auto context = ContextScope::enter(driver_, device_);
    driver_.functions().free(
        static_cast<cuda::Address>(reinterpret_cast<std::uintptr_t>(bytes_.data())));
  }
  if (retained_) driver_.functions().release_primary(device_);
}

}  // namespace fabrail::gpu
