// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The ELF reader and the cache reader: what they read, and that hostile bytes do no harm.
#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>

#include "src/cli/doctor/elf.h"
#include "src/cli/doctor/ld_cache.h"
#include "tests/doctor/elf_writer.h"

namespace fabrail::doctor {
namespace {

ByteSource over(const std::string& bytes) {
  return ByteSource::over(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

LibrarySpec rich_library() {
  LibrarySpec spec;
  spec.soname = "libx.so.1";
  spec.needed = {"liba.so", "libb.so.2"};
  spec.runpath = "$ORIGIN/../lib:/opt/y";
  spec.version_needs = {{"liba.so", "A_1.0"}, {"libb.so.2", "B_2"}};
  spec.version_defs = {"X_1.0", "X_1.1"};
  spec.defined = {"x_open", "x_close"};
  spec.undefined = {"a_read"};
  spec.texts = {"NCCL version 2.28.9+cuda13.0"};
  return spec;
}

TEST(Elf, ReadsWhatTheLoaderReads) {
  const std::string bytes = make_library(rich_library());
  const auto result = read_elf(over(bytes));
  ASSERT_TRUE(result.ok()) << result.error().text();
  const ElfFile& elf = result.value();
  EXPECT_EQ(elf.machine, EM_X86_64);
  EXPECT_EQ(elf.soname, "libx.so.1");
  EXPECT_EQ(elf.needed, (std::vector<std::string>{"liba.so", "libb.so.2"}));
  EXPECT_EQ(elf.runpath, (std::vector<std::string>{"$ORIGIN/../lib", "/opt/y"}));
  EXPECT_TRUE(elf.rpath.empty());
  ASSERT_EQ(elf.version_needs.size(), 2u);
  EXPECT_EQ(elf.version_needs[1].file, "libb.so.2");
  EXPECT_EQ(elf.version_needs[1].version, "B_2");
  EXPECT_EQ(elf.version_defs, (std::vector<std::string>{"X_1.0", "X_1.1"}));
}

TEST(Elf, ReadsSymbols) {
  const std::string bytes = make_library(rich_library());
  const auto result = read_elf_symbols(over(bytes));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().defined, (std::vector<std::string>{"x_open", "x_close"}));
  EXPECT_EQ(result.value().undefined, (std::vector<std::string>{"a_read"}));
}

TEST(Elf, ReadsThisProgram) {
  const auto source = ByteSource::open("/proc/self/exe");
  ASSERT_TRUE(source.has_value());
  const auto elf = read_elf(*source);
  ASSERT_TRUE(elf.ok()) << elf.error().text();
  bool needs_libc = false;
  for (const std::string& name : elf.value().needed) needs_libc |= name == "libc.so.6";
  EXPECT_TRUE(needs_libc);
  bool needs_glibc_version = false;
  for (const VersionNeed& need : elf.value().version_needs) {
    needs_glibc_version |= need.file == "libc.so.6" && need.version.starts_with("GLIBC_2.");
  }
  EXPECT_TRUE(needs_glibc_version);
}

TEST(Elf, TellsProgramsFromLibraries) {
  LibrarySpec spec = rich_library();
  EXPECT_FALSE(read_elf(over(make_library(spec))).value().program);
  spec.program = true;
  EXPECT_TRUE(read_elf(over(make_library(spec))).value().program);
}

TEST(Elf, RefusesOtherFiles) {
  for (const std::string bytes : {"", "\177ELF", "#!/bin/sh\n", "INPUT(libx.so.1)"}) {
    const auto result = read_elf(over(bytes));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kUnsupported);
  }
  std::string other_class = make_library(rich_library());
  other_class[EI_CLASS] = ELFCLASS32;
  EXPECT_FALSE(read_elf(over(other_class)).ok());
}

TEST(Elf, SurvivesEveryTruncation) {
  const std::string bytes = make_library(rich_library());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string cut = bytes.substr(0, length);
    const auto elf = read_elf(over(cut));
    // Without its section headers, at the end, a library is still whole for the loader.
    EXPECT_TRUE(!elf.ok() || length + 3 * sizeof(Elf64_Shdr) >= bytes.size()) << length;
    EXPECT_FALSE(read_elf_symbols(over(cut)).ok());
  }
}

TEST(Elf, SurvivesRandomDamage) {
  const std::string good = make_library(rich_library());
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 4; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    refused += read_elf(over(bytes)).ok() ? 0 : 1;
    refused += read_elf_symbols(over(bytes)).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
}

TEST(ByteSource, FindsTextAcrossPieces) {
  std::string bytes(3 << 20, 'x');
  bytes.replace((1 << 20) - 5, 17, std::string("NCCL version 2.9\0", 17));
  const auto found =
      over(bytes).find_behind("NCCL version ", [](std::string_view) { return true; });
  EXPECT_EQ(found, "2.9");
  EXPECT_FALSE(over(bytes).has_text("NCCL version 3"));
}

TEST(ByteSource, PassesOverWhatIsNotAccepted) {
  const std::string bytes = std::string("version mismatch\0version 2.1\0", 29);
  const auto found = over(bytes).find_behind(
      "version ", [](std::string_view text) { return text[0] >= '0' && text[0] <= '9'; });
  EXPECT_EQ(found, "2.1");
}

TEST(LdCache, ReadsEntriesInOrder) {
  const std::string bytes =
      make_ld_cache({{"libb.so.1", "/lib/libb.so.1"}, {"liba.so", "/x/liba.so"}});
  const auto entries = read_ld_cache(bytes);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].soname, "libb.so.1");
  EXPECT_EQ(entries[1].path, "/x/liba.so");
}

TEST(LdCache, SkipsTheOlderTableInFront) {
  std::string bytes = "ld.so-1.7.0";
  bytes.resize(16 + 12);  // one entry of the old kind
  bytes[12] = 1;
  bytes.resize(32);
  bytes += make_ld_cache({{"liba.so", "/x/liba.so"}});
  EXPECT_EQ(read_ld_cache(bytes).size(), 1u);
}

TEST(LdCache, SurvivesTruncationAndDamage) {
  const std::string good = make_ld_cache({{"liba.so", "/x/liba.so"}, {"libb.so", "/x/libb.so"}});
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_LE(read_ld_cache(good.substr(0, length)).size(), 2u);
  }
  std::string many = good;
  many.replace(20, 4, "\xff\xff\xff\xff");
  EXPECT_LE(read_ld_cache(many).size(), good.size());
  EXPECT_TRUE(read_ld_cache("no cache").empty());
}

}  // namespace
}  // namespace fabrail::doctor
