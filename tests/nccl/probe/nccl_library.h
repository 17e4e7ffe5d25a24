// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A libnccl.so.2 opened in this process, with the functions that it hides from the dynamic linker.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fabrail::nccl_test {

/// This libnccl cannot be driven (no symbols, unknown release): a reason to skip, not a failure.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// NCCL's loader is no public API, but release builds keep their symbol table: a hidden function is
/// the load address plus its value in the file's `.symtab`.
class NcclLibrary {
 public:
  /// Opens `path` and reads its symbol table.
  ///
  /// Errors  Unsupported when it cannot be loaded or carries no `.symtab`.
  explicit NcclLibrary(const std::string& path);

  /// As ncclGetVersion() says it, for instance 22809 for 2.28.9.
  int version() const { return version_; }
  std::string version_text() const;

  /// A function whose mangled name begins with `prefix`, or nullptr.
  ///
  /// The prefix ends before a parameter type that carries the release in its name.
  template <class Function>
  Function* find(std::string_view prefix) const {
    return reinterpret_cast<Function*>(address_of(prefix));
  }

  /// As find(), for what every supported release has.
  ///
  /// Errors  Unsupported when it is not there.
  template <class Function>
  Function* require(std::string_view prefix) const {
    if (Function* function = find<Function>(prefix)) return function;
    throw Unsupported("this libnccl has no symbol " + std::string(prefix));
  }

  /// A function of NCCL's public API.
  template <class Function>
  Function* exported(const char* name) const {
    return reinterpret_cast<Function*>(exported_address(name));
  }

 private:
  uintptr_t address_of(std::string_view prefix) const;
  uintptr_t exported_address(const char* name) const;

  void* handle_;  // never closed: NCCL has threads and destructors of its own
  uintptr_t base_;
  std::map<std::string, uintptr_t, std::less<>> functions_;
  int version_ = 0;
};

}  // namespace fabrail::nccl_test
