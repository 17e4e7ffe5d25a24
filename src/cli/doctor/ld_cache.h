// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reads /etc/ld.so.cache, the loader's index from sonames to files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabrail::doctor {

/// One entry of the cache.
struct CachedLibrary {
  std::string soname;
  std::string path;
};

/// The entries for any processor, in the order of the cache; none if `bytes` is no cache that
/// glibc 2.2 or later reads. Entries that point outside of the file are left out.
///
/// Source  the layout "glibc-ld.so.cache1.1", alone or behind the older "ld.so-1.7.0".
std::vector<CachedLibrary> read_ld_cache(std::string_view bytes);

}  // namespace fabrail::doctor
