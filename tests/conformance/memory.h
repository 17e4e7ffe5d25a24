// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Memory for messages: bytes that depend on a seed, with canaries before and after them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace fabrail::conformance {

using Bytes = std::span<std::byte>;

/// Writes the byte sequence that belongs to `seed`; prefixes of one seed's sequences agree.
void fill_pattern(Bytes bytes, uint64_t seed);

/// Compares every byte with `fill_pattern(seed)`.
testing::AssertionResult has_pattern(std::span<const std::byte> bytes, uint64_t seed);

/// Every byte equals `value`.
testing::AssertionResult holds_only(std::span<const std::byte> bytes, std::byte value);

/// Whatever memory it is, as the CPU cannot reach all.
void write_bytes(Bytes to, const void* from);
void read_bytes(void* to, std::span<const std::byte> from);

inline constexpr std::byte kCanary{0xA5};
inline constexpr std::byte kUntouched{0x5C};  ///< what fresh receive memory holds

/// Memory of its own pages: mapped, or a GPU's with --memory device. `misalign` shifts its start
/// off the page boundary.
class Buffer {
 public:
  enum class Place { kAsAsked, kHost };  ///< kHost: mapped, whatever --memory says
  explicit Buffer(size_t size, size_t misalign = 0, Place place = Place::kAsAsked);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  Bytes bytes() const { return {data_, size_}; }
  Bytes part(size_t offset, size_t size) const { return bytes().subspan(offset, size); }
  void clear() const;  ///< fills with kUntouched
  testing::AssertionResult intact() const;

 private:
  size_t mapped_size_;
  std::byte* mapped_;
  std::byte* data_;
  size_t size_;
};

/// Whole pages that a test may unmap, protect and map again at the same address.
class Pages {
 public:
  explicit Pages(size_t size);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  Bytes bytes() const { return {data_, size_}; }
  void forbid() const;   ///< any access from now on is a SIGSEGV
  void replace() const;  ///< fresh pages at the same address, filled with kCanary

 private:
  size_t size_;
  std::byte* data_;
};

}  // namespace fabrail::conformance
