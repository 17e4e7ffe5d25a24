// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Writes small shared libraries that have nothing but what the dynamic loader reads.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fabrail::doctor {

struct LibrarySpec {
  std::string soname;
  std::vector<std::string> needed;
  std::string rpath;
  std::string runpath;
  std::vector<std::pair<std::string, std::string>> version_needs;  ///< {file, version}
  std::vector<std::string> version_defs;
  std::vector<std::string> defined;
  std::vector<std::string> undefined;
  std::vector<std::string> texts;  ///< stand in the file, each between NULs
  std::uint16_t machine = EM_X86_64;
  bool program = false;  ///< an executable that may be loaded anywhere
};

/// The bytes of the library's file.
std::string make_library(const LibrarySpec& spec);

/// The bytes of an ld.so.cache with these {soname, path} entries.
std::string make_ld_cache(const std::vector<std::pair<std::string, std::string>>& entries);

}  // namespace fabrail::doctor
