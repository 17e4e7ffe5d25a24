// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reads the function symbols, local ones too, from the `.symtab` of a 64-bit ELF file.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace fabrail::nccl_test {

/// Values (addresses before relocation) of all functions by mangled name; empty for a stripped
/// file.
///
/// Errors  std::runtime_error when the file cannot be read or is no 64-bit ELF.
std::map<std::string, uintptr_t, std::less<>> read_function_symbols(const std::string& path);

}  // namespace fabrail::nccl_test
