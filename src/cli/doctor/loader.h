// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Finds shared libraries as glibc's dynamic loader would in the job's environment, without running
// anything.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/doctor/elf.h"
#include "src/cli/doctor/ld_cache.h"
#include "src/cli/doctor/system.h"

namespace fabrail::doctor {

/// A library and what led the loader to it.
struct FoundLibrary {
  std::string path;      ///< as the loader would name it
  std::string real;      ///< links followed
  std::string found_by;  ///< "LD_LIBRARY_PATH", "RUNPATH", "ld.so.cache" ...
};

/// One object of a closure.
struct LoadedObject {
  std::string name;  ///< as it was asked for
  FoundLibrary library;
  std::string needed_by;  ///< path of the object that asked first; "" for the first one
  ElfFile elf;
};

/// A library that the loader would not find.
struct MissingLibrary {
  std::string name;
  std::string needed_by;
};

/// A symbol version that the library which the loader takes does not define.
struct VersionGap {
  std::string version;
  std::string needed_by;
  std::string library;                ///< path of the library that lacks it
  std::vector<std::string> provided;  ///< what it has of the same family
};

/// Everything that one dlopen would bring in, and what stands in its way.
struct Closure {
  std::vector<LoadedObject> objects;  ///< in the loader's order, the library itself first
  std::vector<MissingLibrary> missing;
  std::vector<VersionGap> gaps;

  /// The object that answers to `soname`; null if there is none.
  [[nodiscard]] const LoadedObject* find(std::string_view soname) const;
};

/// The dynamic loader of one System.
///
/// Left out: libraries in glibc-hwcaps folders and audit libraries.
class Loader {
 public:
  explicit Loader(const System& system);

  /// What `dlopen(name)` finds when an object at `caller` ("" if unknown) calls it.
  std::optional<FoundLibrary> find(const std::string& name, const std::string& caller = "");

  /// What `dlopen(name)` loads.
  Closure load(const std::string& name, const std::string& caller = "");

  /// Whether dlopen would take the file: a library, not a program.
  bool is_library(const FoundLibrary& file);

  /// All files that bear `name` in the places that the loader searches, best first, each real file
  /// once.
  std::vector<FoundLibrary> copies(const std::string& name);

  /// The folders of LD_LIBRARY_PATH, with the empty ones (the current folder) left out.
  [[nodiscard]] const std::vector<std::string>& library_path() const { return library_path_; }

  /// The folders that ld.so.conf names. The loader itself does not look there: ldconfig does.
  [[nodiscard]] const std::vector<std::string>& configured_folders() const { return configured_; }

  [[nodiscard]] bool has_cache() const { return has_cache_; }

 private:
  struct Place {
    std::string folder;
    std::string why;
  };

  std::optional<FoundLibrary> take(const std::string& path, const std::string& why);
  std::optional<FoundLibrary> find_in(const std::string& name, const std::vector<Place>& places);
  std::optional<FoundLibrary> find_in_cache(const std::string& name);
  std::optional<FoundLibrary> find_at(const std::string& name, const std::vector<Place>& places);
  std::vector<Place> places_for(const Closure& closure, std::size_t asking,
                                const std::vector<std::size_t>& parents) const;
  std::vector<Place> places_for_caller(const std::string& caller);
  void load_needs_of(std::size_t asking, Closure& closure, std::vector<std::size_t>& parents);
  const ElfFile* elf_at(const std::string& real);

  const System* system_;
  std::uint16_t machine_;
  std::vector<std::string> library_path_;
  std::vector<std::string> configured_;
  std::vector<std::string> default_folders_;
  std::vector<CachedLibrary> cache_;
  bool has_cache_ = false;
  std::map<std::string, std::optional<ElfFile>> files_;  // by real path; none: not loadable
};

}  // namespace fabrail::doctor
