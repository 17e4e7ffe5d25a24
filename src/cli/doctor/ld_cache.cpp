// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/ld_cache.h"

#include <cstdint>
#include <cstring>

namespace fabrail::doctor {

namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kEntryBytes = 24;
constexpr std::size_t kOldHeaderBytes = 16;
constexpr std::size_t kOldEntryBytes = 12;
constexpr std::size_t kLongestPath = 4096;

template <typename T>
T number_at(std::string_view bytes, std::size_t offset) {
  T value = 0;
  if (offset <= bytes.size() && sizeof value <= bytes.size() - offset) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

std::string_view text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view text = bytes.substr(offset, kLongestPath);
  return text.substr(0, text.find('\0'));
}

/// Drops the older table in front, which the loader ignores when a newer one follows.
std::string_view skip_old_table(std::string_view bytes) {
  if (!bytes.starts_with(kOldMagic)) return bytes;
  const std::size_t entries = number_at<std::uint32_t>(bytes, 12);
  const std::size_t end = (kOldHeaderBytes + entries * kOldEntryBytes + 7) & ~std::size_t{7};
  return end < bytes.size() ? bytes.substr(end) : std::string_view{};
}

}  // namespace

std::vector<CachedLibrary> read_ld_cache(std::string_view bytes) {
  std::vector<CachedLibrary> libraries;
  bytes = skip_old_table(bytes);
  if (!bytes.starts_with(kMagic)) return libraries;
  const std::size_t count = number_at<std::uint32_t>(bytes, kMagic.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = kHeaderBytes + i * kEntryBytes;
    if (entry + kEntryBytes > bytes.size()) break;
    // Entries for special processor features are found through glibc-hwcaps folders only.
    if (number_at<std::uint64_t>(bytes, entry + 16) != 0) continue;
    const auto soname = text_at(bytes, number_at<std::uint32_t>(bytes, entry + 4));
    const auto path = text_at(bytes, number_at<std::uint32_t>(bytes, entry + 8));
    if (soname.empty() || !path.starts_with('/')) continue;
    libraries.push_back({std::string(soname), std::string(path)});
  }
  return libraries;
}

}  // namespace fabrail::doctor
