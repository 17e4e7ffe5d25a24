// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// One owner for a shared mapping of a file on tmpfs.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace fabrail::sim {

/// Untyped mapping; unmapped by the destructor.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* base, size_t bytes) : base_(base), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  explicit operator bool() const { return base_ != nullptr; }
  void* base() const { return base_; }
  size_t bytes() const { return bytes_; }

 private:
  void* base_ = nullptr;
  size_t bytes_ = 0;
};

/// Maps an existing file of at least `bytes`; empty on failure, with errno set.
Mapping map_existing(const std::string& path, size_t bytes);

/// Creates the file whole (initialised by `fill` before it gets its name) and maps it. If another
/// process was first, maps that one's file. Empty on failure, with errno set.
Mapping map_or_create(const std::string& path, size_t bytes,
                      const std::function<void(void*)>& fill);

/// Creates the file anew, in place of whatever had this name, and maps it, zeroed.
Mapping map_fresh(const std::string& path, size_t bytes);

/// A mapping seen as a T. The first member of T is a FileHeader; a file of another layout is
/// refused (EPROTO).
template <typename T>
class SharedFile {
 public:
  SharedFile() = default;

  static SharedFile open(const std::string& path, size_t bytes = sizeof(T)) {
    SharedFile file(map_existing(path, bytes));
    if (file && !file->header.matches(T::kMagic)) return reject();
    return file;
  }
  static SharedFile open_or_create(const std::string& path,
                                   const std::function<void(T&)>& fill = {}) {
    SharedFile file(map_or_create(path, sizeof(T), [&](void* base) {
      T& value = *static_cast<T*>(base);
      if (fill) fill(value);
      value.header.stamp(T::kMagic);
    }));
    if (file && !file->header.matches(T::kMagic)) return reject();
    return file;
  }
  static SharedFile create(const std::string& path, size_t bytes = sizeof(T)) {
    SharedFile file(map_fresh(path, bytes));
    if (file) file->header.stamp(T::kMagic);
    return file;
  }

  explicit operator bool() const { return static_cast<bool>(mapping_); }
  T* get() const { return static_cast<T*>(mapping_.base()); }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }

 private:
  explicit SharedFile(Mapping mapping) : mapping_(std::move(mapping)) {}
  static SharedFile reject();

  Mapping mapping_;
};

/// What every shared file starts with; the stamp is written last.
struct FileHeader {
  static constexpr uint32_t kLayout = 1;

  uint32_t magic = 0;
  uint32_t layout = 0;

  void stamp(uint32_t new_magic) { magic = new_magic, layout = kLayout; }
  bool matches(uint32_t expected) const { return magic == expected && layout == kLayout; }
};

template <typename T>
SharedFile<T> SharedFile<T>::reject() {
  errno = EPROTO;
  return {};
}

/// Writes a small text file so that readers see the old or the new text, never a part.
bool write_text(const std::string& path, const std::string& text);

/// Whole content of a small regular file; empty if it cannot be read.
std::string read_text(const std::string& path);

}  // namespace fabrail::sim
