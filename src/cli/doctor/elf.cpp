// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr std::uint64_t kMostHeaders = 4096;
constexpr std::uint64_t kMostDynamic = 65536;
constexpr std::uint64_t kMostVersions = 65536;
constexpr std::uint64_t kMostSymbols = std::uint64_t{1} << 18;
constexpr std::size_t kLongestName = 1024;  // so that a hostile string table cannot be multiplied

/// The NUL-terminated name at `offset` of a string table; "" if it lies outside.
std::string name_at(const std::string& strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const char* start = strings.c_str() + offset;  // c_str() ends even a table that does not
  return std::string(start, strnlen(start, kLongestName));
}

template <typename T>
std::optional<T> read_struct(const ByteSource& source, std::uint64_t offset) {
  T value{};
  if (!source.read_at(offset, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

template <typename T>
std::optional<std::vector<T>> read_array(const ByteSource& source, std::uint64_t offset,
                                         std::uint64_t count) {
  if (count > source.size() / sizeof(T)) return std::nullopt;
  std::vector<T> values(count);
  if (!source.read_at(offset, std::as_writable_bytes(std::span(values)))) return std::nullopt;
  return values;
}

Error damaged(const char* what) {
  return make_error(Code::kInvalidArgument, 0, "damaged ELF file: %s", what);
}

Result<Elf64_Ehdr> read_header(const ByteSource& source) {
  const auto header = read_struct<Elf64_Ehdr>(source, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return make_error(Code::kUnsupported, 0, "not an ELF file");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return make_error(Code::kUnsupported, 0, "not 64-bit little-endian");
  }
  return *header;
}

/// Where the loader would put bytes of the file in memory, to turn addresses back into offsets.
struct Segments {
  std::vector<Elf64_Phdr> headers;

  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& header : headers) {
      if (header.p_type != PT_LOAD || address < header.p_vaddr) continue;
      const std::uint64_t inside = address - header.p_vaddr;
      if (inside < header.p_filesz) return header.p_offset + inside;
    }
    return std::nullopt;
  }
};

/// The entries of the dynamic section by tag, and the string table they point into.
struct Dynamic {
  Segments segments;
  std::vector<Elf64_Dyn> entries;
  std::string strings;

  [[nodiscard]] std::optional<std::uint64_t> value(Elf64_Sxword tag) const {
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == tag) return entry.d_un.d_val;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string text(std::uint64_t offset) const { return name_at(strings, offset); }

  [[nodiscard]] std::vector<std::string> texts(Elf64_Sxword tag) const {
    std::vector<std::string> found;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == tag) found.push_back(text(entry.d_un.d_val));
    }
    return found;
  }
};

std::optional<std::vector<Elf64_Dyn>> read_dynamic_entries(const ByteSource& source,
                                                           const Segments& segments) {
  for (const Elf64_Phdr& header : segments.headers) {
    if (header.p_type != PT_DYNAMIC) continue;
    const std::uint64_t count = header.p_filesz / sizeof(Elf64_Dyn);
    if (count > kMostDynamic) return std::nullopt;
    auto entries = read_array<Elf64_Dyn>(source, header.p_offset, count);
    if (!entries) return std::nullopt;
    for (std::size_t i = 0; i < entries->size(); ++i) {
      if ((*entries)[i].d_tag == DT_NULL) entries->resize(i);
    }
    return entries;
  }
  return std::vector<Elf64_Dyn>{};
}

Result<Dynamic> read_dynamic(const ByteSource& source, const Elf64_Ehdr& header) {
  Dynamic dynamic;
  if (header.e_phnum > kMostHeaders) return damaged("too many program headers");
  auto headers = read_array<Elf64_Phdr>(source, header.e_phoff, header.e_phnum);
  if (!headers) return damaged("program headers");
  dynamic.segments.headers = std::move(*headers);
  auto entries = read_dynamic_entries(source, dynamic.segments);
  if (!entries) return damaged("dynamic section");
  if (entries->empty()) return make_error(Code::kUnsupported, 0, "not dynamically linked");
  dynamic.entries = std::move(*entries);
  const auto address = dynamic.value(DT_STRTAB);
  const auto bytes = dynamic.value(DT_STRSZ);
  const auto offset = address ? dynamic.segments.offset_of(*address) : std::nullopt;
  if (!offset || !bytes) return damaged("no string table");
  auto strings = source.text_at(*offset, *bytes);
  if (!strings) return damaged("string table");
  dynamic.strings = std::move(*strings);
  return dynamic;
}

std::vector<std::string> path_list(const Dynamic& dynamic, Elf64_Sxword tag) {
  std::vector<std::string> paths;
  for (const std::string& text : dynamic.texts(tag)) {
    for (std::string& path : split(text, ':')) {
      if (!path.empty()) paths.push_back(std::move(path));
    }
  }
  return paths;
}

/// The place of one of the version tables; none if the object has none.
std::optional<std::uint64_t> table_offset(const Dynamic& dynamic, Elf64_Sxword tag) {
  const auto address = dynamic.value(tag);
  return address ? dynamic.segments.offset_of(*address) : std::nullopt;
}

/// The versions needed of one library: a chain of `count` entries from `offset` on.
Status read_needs_of(const ByteSource& source, const Dynamic& dynamic, std::uint64_t offset,
                     const Elf64_Verneed& library, std::vector<VersionNeed>& needs) {
  offset += library.vn_aux;
  for (unsigned i = 0; i < library.vn_cnt; ++i) {
    const auto need = read_struct<Elf64_Vernaux>(source, offset);
    if (!need || needs.size() > kMostVersions) return damaged("version needs");
    needs.push_back({.file = dynamic.text(library.vn_file),
                     .version = dynamic.text(need->vna_name),
                     .weak = (need->vna_flags & VER_FLG_WEAK) != 0});
    if (need->vna_next == 0) break;
    offset += need->vna_next;
  }
  return {};
}

Status read_version_needs(const ByteSource& source, const Dynamic& dynamic,
                          std::vector<VersionNeed>& needs) {
  auto offset = table_offset(dynamic, DT_VERNEED);
  const std::uint64_t count = std::min(dynamic.value(DT_VERNEEDNUM).value_or(0), kMostVersions);
  for (std::uint64_t i = 0; offset && i < count; ++i) {
    const auto library = read_struct<Elf64_Verneed>(source, *offset);
    if (!library) return damaged("version needs");
    FR_TRY(read_needs_of(source, dynamic, *offset, *library, needs));
    if (library->vn_next == 0) break;
    *offset += library->vn_next;
  }
  return {};
}

Status read_version_defs(const ByteSource& source, const Dynamic& dynamic,
                         std::vector<std::string>& defs) {
  auto offset = table_offset(dynamic, DT_VERDEF);
  const std::uint64_t count = std::min(dynamic.value(DT_VERDEFNUM).value_or(0), kMostVersions);
  for (std::uint64_t i = 0; offset && i < count; ++i) {
    const auto version = read_struct<Elf64_Verdef>(source, *offset);
    if (!version || defs.size() > kMostVersions) return damaged("version definitions");
    const auto name = read_struct<Elf64_Verdaux>(source, *offset + version->vd_aux);
    if (!name) return damaged("version definitions");
    if ((version->vd_flags & VER_FLG_BASE) == 0) defs.push_back(dynamic.text(name->vda_name));
    if (version->vd_next == 0) break;
    *offset += version->vd_next;
  }
  return {};
}

/// The section headers of the dynamic symbols and of their strings.
std::optional<std::pair<Elf64_Shdr, Elf64_Shdr>> symbol_sections(const ByteSource& source,
                                                                 const Elf64_Ehdr& header) {
  const auto sections = read_array<Elf64_Shdr>(source, header.e_shoff, header.e_shnum);
  if (!sections) return std::nullopt;
  for (const Elf64_Shdr& section : *sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections->size()) continue;
    return std::pair(section, (*sections)[section.sh_link]);
  }
  return std::nullopt;
}

void sort_symbol(const Elf64_Sym& symbol, std::string name, ElfSymbols& symbols) {
  if (name.empty()) return;
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  if (symbol.st_shndx != SHN_UNDEF) {
    if (binding != STB_LOCAL) symbols.defined.push_back(std::move(name));
  } else if (binding == STB_GLOBAL) {
    symbols.undefined.push_back(std::move(name));
  }
}

}  // namespace

Result<ElfFile> read_elf(const ByteSource& source) {
  FR_TRY_ASSIGN(const Elf64_Ehdr header, read_header(source));
  FR_TRY_ASSIGN(const Dynamic dynamic, read_dynamic(source, header));
  ElfFile file;
  file.machine = header.e_machine;
  file.program =
      header.e_type == ET_EXEC || (dynamic.value(DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0;
  const auto soname = dynamic.texts(DT_SONAME);
  if (!soname.empty()) file.soname = soname.front();
  file.needed = dynamic.texts(DT_NEEDED);
  file.rpath = path_list(dynamic, DT_RPATH);
  file.runpath = path_list(dynamic, DT_RUNPATH);
  FR_TRY(read_version_needs(source, dynamic, file.version_needs));
  FR_TRY(read_version_defs(source, dynamic, file.version_defs));
  return file;
}

Result<ElfSymbols> read_elf_symbols(const ByteSource& source) {
  FR_TRY_ASSIGN(const Elf64_Ehdr header, read_header(source));
  const auto sections = symbol_sections(source, header);
  if (!sections) return damaged("no dynamic symbol table");
  const auto& [table, names] = *sections;
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  if (count > kMostSymbols) return damaged("too many symbols");
  const auto entries = read_array<Elf64_Sym>(source, table.sh_offset, count);
  const auto strings = source.text_at(names.sh_offset, names.sh_size);
  if (!entries || !strings) return damaged("dynamic symbol table");
  ElfSymbols symbols;
  for (const Elf64_Sym& entry : *entries) {
    sort_symbol(entry, name_at(*strings, entry.st_name), symbols);
  }
  return symbols;
}

}  // namespace fabrail::doctor
