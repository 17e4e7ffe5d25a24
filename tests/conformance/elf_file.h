// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What a shared library's file says about itself: exported symbols and needed libraries.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fabrail::conformance {

struct ExportedSymbol {
  std::string name;
  bool is_object;
  size_t size;
};

struct ElfFile {
  std::vector<ExportedSymbol> exported;
  std::vector<std::string> needed;
};

/// Reads a 64-bit ELF library of this machine's byte order. Empty when it is anything else.
ElfFile read_elf(const std::string& path);

}  // namespace fabrail::conformance
