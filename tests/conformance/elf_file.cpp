// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reads .dynsym and .dynamic through the section headers.
#include "tests/conformance/elf_file.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace fabrail::conformance {
namespace {

using Image = std::vector<char>;

Image read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <class T>
std::vector<T> table(const Image& image, size_t offset, size_t bytes) {
  std::vector<T> rows(offset + bytes <= image.size() ? bytes / sizeof(T) : 0);
  if (!rows.empty()) std::memcpy(rows.data(), image.data() + offset, rows.size() * sizeof(T));
  return rows;
}

std::string text(const Image& image, const Elf64_Shdr& strings, size_t at) {
  const size_t begin = strings.sh_offset + at;
  if (begin >= image.size()) return {};
  return {image.data() + begin, strnlen(image.data() + begin, image.size() - begin)};
}

bool is_exported(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
         (binding == STB_GLOBAL || binding == STB_WEAK) &&
         ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT;
}

void add_exported(const Image& image, const Elf64_Shdr& symbols, const Elf64_Shdr& strings,
                  ElfFile& out) {
  for (const auto& symbol : table<Elf64_Sym>(image, symbols.sh_offset, symbols.sh_size)) {
    if (!is_exported(symbol)) continue;
    out.exported.push_back({text(image, strings, symbol.st_name),
                            ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT, symbol.st_size});
  }
}

void add_needed(const Image& image, const Elf64_Shdr& dynamic, const Elf64_Shdr& strings,
                ElfFile& out) {
  for (const auto& entry : table<Elf64_Dyn>(image, dynamic.sh_offset, dynamic.sh_size)) {
    if (entry.d_tag == DT_NEEDED) out.needed.push_back(text(image, strings, entry.d_un.d_val));
  }
}

}  // namespace

ElfFile read_elf(const std::string& path) {
  const Image image = read_file(path);
  ElfFile out;
  const auto headers = table<Elf64_Ehdr>(image, 0, sizeof(Elf64_Ehdr));
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0) return out;
  const auto sections =
      table<Elf64_Shdr>(image, headers[0].e_shoff, headers[0].e_shnum * sizeof(Elf64_Shdr));
  for (const auto& section : sections) {
    if (section.sh_link >= sections.size()) continue;
    const auto& strings = sections[section.sh_link];
    if (section.sh_type == SHT_DYNSYM) add_exported(image, section, strings, out);
    if (section.sh_type == SHT_DYNAMIC) add_needed(image, section, strings, out);
  }
  return out;
}

}  // namespace fabrail::conformance
