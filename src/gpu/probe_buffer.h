// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A little device memory, to try with a NIC what is about to be promised.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "src/gpu/memory.h"

namespace fabrail::gpu {

/// Device memory, with its dma-buf if there is one. Frees both.
class ProbeBuffer {
 public:
  /// A GPU's page: NICs are given whole ones.
  static constexpr std::size_t kBytes = std::size_t{2} << 20;

  /// `device`  best the current one: a device that nobody uses yet gets a context, which takes time
  /// and memory. Errors  kSystem: the driver gave no memory. Without a dma-buf the buffer is there
  /// nevertheless.
  static Result<ProbeBuffer> open(const Driver& driver, int device);

  ProbeBuffer(ProbeBuffer&& other) noexcept;
  ProbeBuffer& operator=(ProbeBuffer&&) = delete;
  ProbeBuffer(const ProbeBuffer&) = delete;
  ProbeBuffer& operator=(const ProbeBuffer&) = delete;
  ~ProbeBuffer();

  [[nodiscard]] int device() const { return device_; }
  /// Device addresses: for NICs only.
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const Result<Dmabuf>& dmabuf() const { return *dmabuf_; }

 private:
  ProbeBuffer(const Driver& driver, int device) : driver_(driver), device_(device) {}
  Status retain_context();

  Driver driver_;
  int device_;
  bool retained_ = false;
  std::span<std::byte> bytes_;
  std::optional<Result<Dmabuf>> dmabuf_;
};

}  // namespace fabrail::gpu
