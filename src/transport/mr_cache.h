// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Registered memory of one device: each range once, however many communicators register it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "src/base/mutex.h"
#include "src/transport/rail.h"

namespace fabrail::transport {

/// Stands in the place of a CUDA device's number.
inline constexpr int kHostMemory = -1;

/// A range registered on every rail: whole pages of host memory, or any range of a GPU's.
class RegisteredRange {
 public:
  RegisteredRange(std::span<std::byte> range, int device, std::vector<fabric::MemoryRegion> regions)
      : range_(range), device_(device), regions_(std::move(regions)) {}

  [[nodiscard]] std::span<std::byte> bytes() const { return range_; }
  /// The CUDA device whose memory it is, or kHostMemory.
  [[nodiscard]] int device() const { return device_; }
  /// Whether the CPU must not touch it.
  [[nodiscard]] bool is_device() const { return device_ != kHostMemory; }
  [[nodiscard]] void* descriptor(std::uint32_t rail) const { return regions_[rail].descriptor(); }
  [[nodiscard]] std::uint64_t key(std::uint32_t rail) const { return regions_[rail].key(); }

 private:
  friend class MrCache;
  std::span<std::byte> range_;
  int device_;
  std::vector<fabric::MemoryRegion> regions_;
  std::uint32_t users_ = 0;  // guarded by the cache's mutex
};

/// Registrations by address. A range lives exactly as long as somebody holds it: what is freed and
/// mapped again is registered again.
///
/// Thread  any; nothing is locked while the provider registers or closes, so that a long
/// registration holds up
///         nobody else. Two threads that register the same new range at once get one each.
class MrCache {
 public:
  MrCache(std::span<const std::unique_ptr<Rail>> rails, std::size_t page_bytes)
      : rails_(rails), page_bytes_(page_bytes) {}

  /// The registration that covers [data, data + bytes), made if there is none. release() it once.
  Result<RegisteredRange*> acquire(std::byte* data, std::size_t bytes) EXCLUDES(mutex_);
  /// The registration of that GPU's memory that covers `range`, if there is one; release() it once.
  RegisteredRange* acquire_device(std::span<std::byte> range, int device) EXCLUDES(mutex_);
  /// Registers memory of a GPU; release() it once.
  Result<RegisteredRange*> add_device(const fabric::DeviceRange& range, int device)
      EXCLUDES(mutex_);
  /// The last release closes the range: its keys are dead when this returns.
  void release(RegisteredRange& range) EXCLUDES(mutex_);

  [[nodiscard]] std::size_t size() EXCLUDES(mutex_);

 private:
  // Keys of the rails' own buffers are smaller.
  static constexpr std::uint64_t kFirstKey = 16;
  // How many registrations that start before a range are looked at for one that covers it. Nested
  // ranges can hide a cover further back; then the range is registered once more, which is
  // harmless.
  static constexpr int kLookBack = 8;

  /// The known range that covers this one, with one more user; null if there is none.
  RegisteredRange* take_known(std::span<std::byte> range, int device) REQUIRES(mutex_);
  /// `open_one(endpoint, key)` registers the range on one rail.
  template <typename OpenOne>
  Result<RegisteredRange*> add(std::span<std::byte> range, int device, OpenOne&& open_one)
      EXCLUDES(mutex_);
  [[nodiscard]] std::span<std::byte> whole_pages(std::byte* data, std::size_t bytes) const;

  std::span<const std::unique_ptr<Rail>> rails_;
  std::size_t page_bytes_;
  Mutex mutex_;
  std::multimap<std::byte*, std::unique_ptr<RegisteredRange>> ranges_ GUARDED_BY(mutex_);
  std::uint64_t next_key_ GUARDED_BY(mutex_) =
      kFirstKey;  // never used twice, so no stale key finds new memory
};

}  // namespace fabrail::transport
