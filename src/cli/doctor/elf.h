// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What the dynamic loader reads of a shared library: names, search paths, symbol versions, symbols.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/cli/doctor/byte_source.h"

namespace fabrail::doctor {

/// One symbol version that an object needs of a library.
struct VersionNeed {
  std::string file;     ///< soname of the library that must define it
  std::string version;  ///< for example "FABRIC_1.6"
  bool weak = false;    ///< the loader only warns when it is missing
};

/// The dynamic section of a 64-bit little-endian ELF object.
struct ElfFile {
  std::uint16_t machine = 0;  ///< EM_X86_64, EM_AARCH64 ...
  bool program = false;       ///< an executable, which dlopen refuses
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> rpath;    ///< DT_RPATH, split at colons, not expanded
  std::vector<std::string> runpath;  ///< DT_RUNPATH, likewise
  std::vector<VersionNeed> version_needs;
  std::vector<std::string> version_defs;  ///< without the base version (the soname itself)
};

/// The dynamic symbols of an object, by name.
struct ElfSymbols {
  std::vector<std::string> defined;
  std::vector<std::string> undefined;  ///< without the weak ones, which may stay undefined
};

/// Reads what a file says about itself. Nothing in it is trusted: every offset is checked.
///
/// Errors  kUnsupported if it is no 64-bit little-endian ELF object or has no dynamic section,
///         kInvalidArgument if it is damaged.
Result<ElfFile> read_elf(const ByteSource& source);

/// Reads the dynamic symbol table; finds it through the section headers.
Result<ElfSymbols> read_elf_symbols(const ByteSource& source);

}  // namespace fabrail::doctor
