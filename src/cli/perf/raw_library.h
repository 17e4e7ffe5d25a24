// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// libfabric, opened at run time: perf itself starts without it, only --raw needs it.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>
#include <vector>

namespace fabrail::cli::perf {

/// The functions that libfabric exports and perf calls; the rest of its API goes over tables.
class RawLibrary {
 public:
  /// Throws Failure where the library cannot be loaded.
  RawLibrary();

  using Info = std::unique_ptr<fi_info, void (*)(fi_info*)>;

  /// The first entry of a provider that can do what the raw patterns need: reliable datagram
  /// endpoints with messages and RMA. NULL if there is none.
  Info find(const std::string& provider, const std::string& domain) const;

  fid_fabric* open_fabric(const fi_info& info) const;

 private:
  template <class F>
  void resolve(F& function, const char* name);

  std::unique_ptr<void, int (*)(void*)> library_;
  decltype(&::fi_getinfo) getinfo_ = nullptr;
  decltype(&::fi_freeinfo) freeinfo_ = nullptr;
  decltype(&::fi_dupinfo) dupinfo_ = nullptr;
  decltype(&::fi_fabric) fabric_ = nullptr;
};

/// Text of a libfabric error code, negative as its calls return it.
std::string raw_error(const char* call, ssize_t code);

}  // namespace fabrail::cli::perf
