// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Bounds-checked reading and writing of little-endian integers and byte strings: all that crosses
// the network or sits in a connection handle goes through here, never through a cast.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

static_assert(std::endian::native == std::endian::little,
              "the wire format is the host's on every target");

namespace fabrail::wire {

/// Reads values in order. After the first read past the end every read gives zero and ok() is
/// false: check it once, at the end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <std::integral T>
  T get() {
    T value{};
    if (const auto bytes = take(sizeof(T)); !bytes.empty())
      std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  /// The next `count` bytes, or none if there are fewer.
  std::span<const std::byte> take(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }

  [[nodiscard]] std::span<const std::byte> rest() const { return rest_; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

/// Writes values in order into a fixed buffer; what does not fit clears ok().
class Writer {
 public:
  explicit Writer(std::span<std::byte> bytes) : all_(bytes) {}

  template <std::integral T>
  void put(T value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }

  void put_bytes(std::span<const std::byte> bytes) {
    if (bytes.size() > all_.size() - used_) {
      ok_ = false;
      return;
    }
    if (!bytes.empty()) std::memcpy(all_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
  }

  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  std::span<std::byte> all_;
  std::size_t used_ = 0;
  bool ok_ = true;
};

}  // namespace fabrail::wire
