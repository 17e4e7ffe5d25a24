// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Bytes that are read in pieces from a file that may be large, or from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fabrail::doctor {

/// A file (owned, closed in the end) or memory (borrowed). Reads outside of it return fewer bytes.
class ByteSource {
 public:
  static std::optional<ByteSource> open(const std::filesystem::path& path);
  static ByteSource over(std::span<const std::byte> memory);

  ByteSource(ByteSource&& other) noexcept;
  ByteSource& operator=(ByteSource&& other) noexcept;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Reads into all of `out`; false if the source ends before.
  [[nodiscard]] bool read_at(std::uint64_t offset, std::span<std::byte> out) const;

  /// Exactly `bytes` at `offset` as text; none if the source ends before or `bytes` is absurd.
  [[nodiscard]] std::optional<std::string> text_at(std::uint64_t offset, std::uint64_t bytes) const;

  /// The first text right behind `prefix` that runs to the next NUL or line end (64 bytes at most)
  /// and pleases `accept`. Reads piece by piece, at most the first half GiB.
  [[nodiscard]] std::optional<std::string> find_behind(
      std::string_view prefix, const std::function<bool(std::string_view)>& accept) const;

  /// Whether `text` occurs in the first half GiB.
  [[nodiscard]] bool has_text(std::string_view text) const;

 private:
  ByteSource() = default;

  int file_ = -1;
  std::span<const std::byte> memory_;
  std::uint64_t size_ = 0;
};

}  // namespace fabrail::doctor
