// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace fabrail::doctor {

namespace {

constexpr std::uint64_t kMostText = std::uint64_t{64} << 20;
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
constexpr std::size_t kFoundText = 64;
constexpr std::uint64_t kMostSearched = std::uint64_t{1} << 29;

std::string_view up_to_end(std::string_view text) {
  text = text.substr(0, kFoundText);
  return text.substr(0, text.find_first_of(std::string_view("\0\n\r", 3)));
}

/// The first acceptable text whose prefix starts in the first `starts` bytes of `piece`.
std::optional<std::string> find_in(std::string_view piece, std::size_t starts,
                                   std::string_view prefix,
                                   const std::function<bool(std::string_view)>& accept) {
  for (std::size_t at = piece.find(prefix); at < starts; at = piece.find(prefix, at + 1)) {
    const std::string_view text = up_to_end(piece.substr(at + prefix.size()));
    if (accept(text)) return std::string(text);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ByteSource> ByteSource::open(const std::filesystem::path& path) {
  ByteSource source;
  source.file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (source.file_ < 0 || ::fstat(source.file_, &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  source.size_ = static_cast<std::uint64_t>(status.st_size);
  return source;
}

ByteSource ByteSource::over(std::span<const std::byte> memory) {
  ByteSource source;
  source.memory_ = memory;
  source.size_ = memory.size();
  return source;
}

ByteSource::ByteSource(ByteSource&& other) noexcept
    : file_(std::exchange(other.file_, -1)), memory_(other.memory_), size_(other.size_) {}

ByteSource& ByteSource::operator=(ByteSource&& other) noexcept {
  std::swap(file_, other.file_);
  memory_ = other.memory_;
  size_ = other.size_;
  return *this;
}

ByteSource::~ByteSource() {
  if (file_ >= 0) ::close(file_);
}

bool ByteSource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset) return false;
  if (file_ < 0) {
    if (!out.empty()) std::memcpy(out.data(), memory_.data() + offset, out.size());
    return true;
  }
  while (!out.empty()) {
    const ssize_t got = ::pread(file_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got <= 0) return false;  // the file shrank under us
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

std::optional<std::string> ByteSource::text_at(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes > kMostText || offset > size_ || bytes > size_ - offset) return std::nullopt;
  std::string text(bytes, '\0');
  if (!read_at(offset, std::as_writable_bytes(std::span(text)))) return std::nullopt;
  return text;
}

std::optional<std::string> ByteSource::find_behind(
    std::string_view prefix, const std::function<bool(std::string_view)>& accept) const {
  const std::uint64_t end = std::min(size_, kMostSearched);
  for (std::uint64_t at = 0; at < end; at += kPiece) {
    const std::uint64_t starts = std::min(kPiece, end - at);
    // What starts at the end of this piece goes on in the next one.
    const std::uint64_t overlap = prefix.size() + kFoundText;
    const auto piece = text_at(at, std::min(starts + overlap, size_ - at));
    if (!piece) return std::nullopt;
    if (auto found = find_in(*piece, starts, prefix, accept)) return found;
  }
  return std::nullopt;
}

bool ByteSource::has_text(std::string_view text) const {
  return find_behind(text, [](std::string_view) { return true; }).has_value();
}

}  // namespace fabrail::doctor
