// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/doctor/elf_writer.h"

#include <cstring>
#include <string_view>

namespace fabrail::doctor {

namespace {

/// Grows a file; addresses in memory are offsets in the file.
class FileWriter {
 public:
  std::uint64_t end() const { return bytes_.size(); }

  template <typename T>
  std::uint64_t put(const T& value) {
    const std::uint64_t at = end();
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return at;
  }
  template <typename T>
  void put_at(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  std::uint64_t put_text(std::string_view text) {
    const std::uint64_t at = end();
    bytes_ += text;
    bytes_ += '\0';
    return at;
  }
  void align() { bytes_.resize((bytes_.size() + 7) / 8 * 8); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// The dynamic string table.
class Strings {
 public:
  Elf64_Word add(const std::string& text) {
    const auto at = static_cast<Elf64_Word>(bytes_.size());
    bytes_ += text;
    bytes_ += '\0';
    return at;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

std::vector<Elf64_Sym> make_symbols(const LibrarySpec& spec, Strings& strings) {
  std::vector<Elf64_Sym> symbols(1);
  for (const std::string& name : spec.defined) {
    Elf64_Sym symbol{};
    symbol.st_name = strings.add(name);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    symbols.push_back(symbol);
  }
  for (const std::string& name : spec.undefined) {
    Elf64_Sym symbol{};
    symbol.st_name = strings.add(name);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    symbols.push_back(symbol);
  }
  return symbols;
}

std::uint64_t put_version_needs(const LibrarySpec& spec, Strings& strings, FileWriter& file) {
  const std::uint64_t start = file.end();
  for (const auto& [library, version] : spec.version_needs) {
    const bool last = &library == &spec.version_needs.back().first;
    Elf64_Verneed need{};
    need.vn_version = 1;
    need.vn_cnt = 1;
    need.vn_file = strings.add(library);
    need.vn_aux = sizeof(Elf64_Verneed);
    need.vn_next = last ? 0 : sizeof(Elf64_Verneed) + sizeof(Elf64_Vernaux);
    file.put(need);
    Elf64_Vernaux name{};
    name.vna_name = strings.add(version);
    file.put(name);
  }
  return start;
}

std::uint64_t put_version_defs(const LibrarySpec& spec, Strings& strings, FileWriter& file) {
  const std::uint64_t start = file.end();
  std::vector<std::string> names{spec.soname};  // the base version comes first
  names.insert(names.end(), spec.version_defs.begin(), spec.version_defs.end());
  for (std::size_t i = 0; i < names.size(); ++i) {
    Elf64_Verdef version{};
    version.vd_version = 1;
    version.vd_flags = i == 0 ? VER_FLG_BASE : 0;
    version.vd_cnt = 1;
    version.vd_aux = sizeof(Elf64_Verdef);
    version.vd_next = i + 1 == names.size() ? 0 : sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux);
    file.put(version);
    Elf64_Verdaux name{};
    name.vda_name = strings.add(names[i]);
    file.put(name);
  }
  return start;
}

using DynamicEntries = std::vector<std::pair<Elf64_Sxword, std::uint64_t>>;

DynamicEntries named_entries(const LibrarySpec& spec, Strings& strings) {
  DynamicEntries entries;
  for (const std::string& name : spec.needed) entries.emplace_back(DT_NEEDED, strings.add(name));
  if (!spec.soname.empty()) entries.emplace_back(DT_SONAME, strings.add(spec.soname));
  if (!spec.rpath.empty()) entries.emplace_back(DT_RPATH, strings.add(spec.rpath));
  if (spec.program) entries.emplace_back(DT_FLAGS_1, DF_1_PIE);
  if (!spec.runpath.empty()) entries.emplace_back(DT_RUNPATH, strings.add(spec.runpath));
  return entries;
}

Elf64_Ehdr make_header(const LibrarySpec& spec, std::uint64_t sections) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = spec.machine;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = sections;
  header.e_shnum = 3;
  return header;
}

Elf64_Phdr make_segment(Elf64_Word type, std::uint64_t offset, std::uint64_t bytes) {
  Elf64_Phdr segment{};
  segment.p_type = type;
  segment.p_offset = offset;
  segment.p_vaddr = offset;
  segment.p_filesz = bytes;
  segment.p_memsz = bytes;
  return segment;
}

Elf64_Shdr make_section(Elf64_Word type, std::uint64_t offset, std::uint64_t bytes,
                        Elf64_Word link) {
  Elf64_Shdr section{};
  section.sh_type = type;
  section.sh_offset = offset;
  section.sh_size = bytes;
  section.sh_link = link;
  return section;
}

}  // namespace

std::string make_library(const LibrarySpec& spec) {
  FileWriter file;
  file.put(Elf64_Ehdr{});
  const std::uint64_t segments = file.put(Elf64_Phdr{});
  file.put(Elf64_Phdr{});
  for (const std::string& text : spec.texts) {
    file.put('\0');
    file.put_text(text);
  }
  file.align();
  Strings strings;
  DynamicEntries dynamic = named_entries(spec, strings);
  const std::vector<Elf64_Sym> symbols = make_symbols(spec, strings);
  const std::uint64_t symbol_table = file.end();
  for (const Elf64_Sym& symbol : symbols) file.put(symbol);
  if (!spec.version_needs.empty()) {
    dynamic.emplace_back(DT_VERNEED, put_version_needs(spec, strings, file));
    dynamic.emplace_back(DT_VERNEEDNUM, spec.version_needs.size());
  }
  if (!spec.version_defs.empty()) {
    dynamic.emplace_back(DT_VERDEF, put_version_defs(spec, strings, file));
    dynamic.emplace_back(DT_VERDEFNUM, spec.version_defs.size() + 1);
  }
  const std::uint64_t string_table = file.put_text(strings.bytes());
  file.align();
  dynamic.emplace_back(DT_STRTAB, string_table);
  dynamic.emplace_back(DT_STRSZ, strings.bytes().size());
  dynamic.emplace_back(DT_SYMTAB, symbol_table);
  dynamic.emplace_back(DT_NULL, 0);
  const std::uint64_t dynamic_section = file.end();
  for (const auto& [tag, value] : dynamic) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    file.put(entry);
  }
  const std::uint64_t dynamic_bytes = file.end() - dynamic_section;
  const std::uint64_t sections = file.put(Elf64_Shdr{});
  file.put(make_section(SHT_DYNSYM, symbol_table, symbols.size() * sizeof(Elf64_Sym), 2));
  file.put(make_section(SHT_STRTAB, string_table, strings.bytes().size(), 0));
  file.put_at(0, make_header(spec, sections));
  file.put_at(segments, make_segment(PT_LOAD, 0, file.end()));
  file.put_at(segments + sizeof(Elf64_Phdr),
              make_segment(PT_DYNAMIC, dynamic_section, dynamic_bytes));
  return file.take();
}

std::string make_ld_cache(const std::vector<std::pair<std::string, std::string>>& entries) {
  FileWriter file;
  for (const char letter : std::string_view("glibc-ld.so.cache1.1")) file.put(letter);
  file.put(static_cast<std::uint32_t>(entries.size()));
  while (file.end() < 48) file.put('\0');
  std::uint64_t text = 48 + entries.size() * 24;
  for (const auto& [soname, path] : entries) {
    file.put(std::uint32_t{0x0303});
    file.put(static_cast<std::uint32_t>(text));
    file.put(static_cast<std::uint32_t>(text + soname.size() + 1));
    file.put(std::uint32_t{0});
    file.put(std::uint64_t{0});
    text += soname.size() + path.size() + 2;
  }
  for (const auto& [soname, path] : entries) {
    file.put_text(soname);
    file.put_text(path);
  }
  return file.take();
}

}  // namespace fabrail::doctor
