// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Maps the file and walks its section headers; pages that hold no symbols are never touched, which
// matters for a library of 400 MB.
#include "tests/nccl/probe/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <stdexcept>

namespace fabrail::nccl_test {
namespace {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw std::runtime_error("cannot open " + path);
    struct stat status {};
    fstat(fd, &status);
    bytes_ = static_cast<size_t>(status.st_size);
    data_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (data_ == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() { munmap(data_, bytes_); }

  template <class T>
  std::span<const T> array(uint64_t offset, uint64_t count) const {
    if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) {
      throw std::runtime_error("truncated ELF file");
    }
    return {reinterpret_cast<const T*>(static_cast<const char*>(data_) + offset), count};
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

std::span<const Elf64_Shdr> sections_of(const MappedFile& file) {
  const Elf64_Ehdr& header = file.array<Elf64_Ehdr>(0, 1)[0];
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    throw std::runtime_error("not a 64-bit ELF file");
  }
  return file.array<Elf64_Shdr>(header.e_shoff, header.e_shnum);
}

}  // namespace

std::map<std::string, uintptr_t, std::less<>> read_function_symbols(const std::string& path) {
  const MappedFile file(path);
  const auto sections = sections_of(file);
  std::map<std::string, uintptr_t, std::less<>> functions;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    const auto names = file.array<char>(strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym& symbol :
         file.array<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0) continue;
      functions.emplace(&names[symbol.st_name], symbol.st_value);
    }
  }
  return functions;
}

}  // namespace fabrail::nccl_test
