// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/loader.h"

#include <elf.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr std::size_t kMostObjects = 1024;
constexpr std::size_t kMostCacheBytes = std::size_t{16} << 20;
constexpr int kDeepestInclude = 8;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
  return text;
}

/// Expands what ld.so(8) calls dynamic string tokens, for an object at `path`.
std::string expand(std::string folder, const std::string& path) {
  for (const char* token : {"$ORIGIN", "${ORIGIN}"}) {
    folder = replace_all(std::move(folder), token, folder_of(path));
  }
  for (const char* token : {"$LIB", "${LIB}"})
    folder = replace_all(std::move(folder), token, "lib64");
  return folder;
}

std::uint16_t machine_of(const System& system) {
  return system.exists("/lib/ld-linux-aarch64.so.1") ? EM_AARCH64 : EM_X86_64;
}

std::vector<std::string> default_folders(const System& system, std::uint16_t machine) {
  const std::string multiarch = machine == EM_AARCH64 ? "/aarch64-linux-gnu" : "/x86_64-linux-gnu";
  if (system.exists("/usr/lib" + multiarch)) {
    return {"/lib" + multiarch, "/usr/lib" + multiarch, "/lib", "/usr/lib"};
  }
  return {"/lib64", "/usr/lib64"};
}

std::vector<std::string> folders_of_library_path(const System& system) {
  std::vector<std::string> folders;
  std::string text = system.variable("LD_LIBRARY_PATH").value_or("");
  std::replace(text.begin(), text.end(), ';', ':');
  for (std::string& folder : split(text, ':')) {
    if (!folder.empty()) folders.push_back(std::move(folder));
  }
  return folders;
}

void read_conf(const System& system, const std::string& path, int depth,
               std::vector<std::string>& folders);

/// `include /etc/ld.so.conf.d/*.conf`: the only pattern in use is a star in the last part.
void include_conf(const System& system, const std::string& pattern, int depth,
                  std::vector<std::string>& folders) {
  const std::string folder = folder_of(pattern);
  const std::string name = pattern.substr(folder.size() + 1);
  const std::size_t star = name.find('*');
  if (star == std::string::npos) return read_conf(system, pattern, depth, folders);
  const std::string_view ending = std::string_view(name).substr(star + 1);
  for (const std::string& entry : system.list(folder)) {
    if (entry.starts_with(name.substr(0, star)) && entry.ends_with(ending)) {
      read_conf(system, folder + "/" + entry, depth, folders);
    }
  }
}

void read_conf(const System& system, const std::string& path, int depth,
               std::vector<std::string>& folders) {
  if (depth > kDeepestInclude) return;
  for (const std::string& line : lines(system.read(path).value_or(""))) {
    const std::vector<std::string> parts = words(line.substr(0, line.find('#')));
    if (parts.empty()) continue;
    if (parts[0].starts_with('/')) {
      folders.push_back(parts[0]);
    } else if (parts[0] == "include" && parts.size() > 1) {
      const bool absolute = parts[1].starts_with('/');
      include_conf(system, absolute ? parts[1] : "/etc/" + parts[1], depth + 1, folders);
    }
  }
}

/// The part before the last underscore: "FABRIC_1.7" is of the family "FABRIC".
std::string family_of(const std::string& version) { return version.substr(0, version.rfind('_')); }

std::vector<std::string> same_family(const std::vector<std::string>& defs,
                                     const std::string& version) {
  std::vector<std::string> found;
  for (const std::string& def : defs) {
    if (family_of(def) == family_of(version)) found.push_back(def);
  }
  return found;
}

void find_gaps(Closure& closure) {
  for (const LoadedObject& object : closure.objects) {
    for (const VersionNeed& need : object.elf.version_needs) {
      const LoadedObject* library = closure.find(need.file);
      // A library without any versions satisfies all: the loader only prints a warning.
      if (library == nullptr || library->elf.version_defs.empty() || need.weak) continue;
      const auto& defs = library->elf.version_defs;
      if (std::find(defs.begin(), defs.end(), need.version) != defs.end()) continue;
      closure.gaps.push_back({.version = need.version,
                              .needed_by = object.library.path,
                              .library = library->library.path,
                              .provided = same_family(defs, need.version)});
    }
  }
}

}  // namespace

const LoadedObject* Closure::find(std::string_view soname) const {
  for (const LoadedObject& object : objects) {
    if (object.name == soname || object.elf.soname == soname) return &object;
  }
  return nullptr;
}

Loader::Loader(const System& system)
    : system_(&system),
      machine_(machine_of(system)),
      library_path_(folders_of_library_path(system)),
      default_folders_(default_folders(system, machine_)) {
  read_conf(system, "/etc/ld.so.conf", 0, configured_);
  const auto cache = system.read("/etc/ld.so.cache", kMostCacheBytes);
  has_cache_ = cache.has_value();
  if (cache) cache_ = read_ld_cache(*cache);
}

const ElfFile* Loader::elf_at(const std::string& real) {
  const auto known = files_.find(real);
  if (known != files_.end()) return known->second ? &*known->second : nullptr;
  std::optional<ElfFile>& slot = files_[real];
  const auto host = system_->on_host(real);
  const auto source = host ? ByteSource::open(*host) : std::nullopt;
  if (!source) return nullptr;
  auto elf = read_elf(*source);
  if (!elf.ok() || elf.value().machine != machine_) return nullptr;
  slot = elf.take();
  return &*slot;
}

std::optional<FoundLibrary> Loader::take(const std::string& path, const std::string& why) {
  const auto real = system_->resolve(path);
  if (!real || elf_at(*real) == nullptr) return std::nullopt;
  return FoundLibrary{path, *real, why};
}

std::optional<FoundLibrary> Loader::find_in(const std::string& name,
                                            const std::vector<Place>& places) {
  for (const Place& place : places) {
    if (auto found = take(place.folder + "/" + name, place.why)) return found;
  }
  return std::nullopt;
}

std::optional<FoundLibrary> Loader::find_in_cache(const std::string& name) {
  for (const CachedLibrary& entry : cache_) {
    if (entry.soname != name) continue;
    if (auto found = take(entry.path, "ld.so.cache")) return found;
  }
  return std::nullopt;
}

std::optional<FoundLibrary> Loader::find_at(const std::string& name,
                                            const std::vector<Place>& places) {
  if (contains(name, "/")) return take(name, "its path");
  if (auto found = find_in(name, places)) return found;
  if (auto found = find_in_cache(name)) return found;
  for (const std::string& folder : default_folders_) {
    if (auto found = take(folder + "/" + name, "the default folders")) return found;
  }
  // The loader itself is named by its full path in every program.
  if (name.starts_with("ld-linux")) return take("/lib64/" + name, "the kernel");
  return std::nullopt;
}

std::vector<Loader::Place> Loader::places_for(const Closure& closure, std::size_t asking,
                                              const std::vector<std::size_t>& parents) const {
  std::vector<Place> places;
  const LoadedObject& object = closure.objects[asking];
  if (object.elf.runpath.empty()) {
    // RPATH is inherited from the objects that led here; each is its own parent at the end.
    for (std::size_t at = asking;; at = parents[at]) {
      const LoadedObject& owner = closure.objects[at];
      for (const std::string& folder :
           owner.elf.runpath.empty() ? owner.elf.rpath : std::vector<std::string>{}) {
        places.push_back({expand(folder, owner.library.path), "RPATH of " + owner.library.path});
      }
      if (parents[at] == at) break;
    }
  }
  for (const std::string& folder : library_path_) places.push_back({folder, "LD_LIBRARY_PATH"});
  for (const std::string& folder : object.elf.runpath) {
    places.push_back({expand(folder, object.library.path), "RUNPATH of " + object.library.path});
  }
  return places;
}

std::vector<Loader::Place> Loader::places_for_caller(const std::string& caller) {
  const auto library = caller.empty() ? std::nullopt : take(caller, "");
  Closure closure;
  closure.objects.push_back({});
  if (library) closure.objects[0] = {caller, *library, "", *elf_at(library->real)};
  return places_for(closure, 0, {0});
}

std::optional<FoundLibrary> Loader::find(const std::string& name, const std::string& caller) {
  return find_at(name, places_for_caller(caller));
}

void Loader::load_needs_of(std::size_t asking, Closure& closure,
                           std::vector<std::size_t>& parents) {
  const std::vector<Place> places = places_for(closure, asking, parents);
  const std::string path = closure.objects[asking].library.path;
  for (const std::string& name : std::vector<std::string>(closure.objects[asking].elf.needed)) {
    if (closure.find(name) != nullptr || closure.objects.size() >= kMostObjects) continue;
    const auto found = find_at(name, places);
    if (!found) {
      // It is in every process, wherever its file is.
      if (!name.starts_with("ld-linux")) closure.missing.push_back({name, path});
      continue;
    }
    closure.objects.push_back({name, *found, path, *elf_at(found->real)});
    parents.push_back(asking);
  }
}

bool Loader::is_library(const FoundLibrary& file) {
  const ElfFile* elf = elf_at(file.real);
  return elf != nullptr && !elf->program;
}

Closure Loader::load(const std::string& name, const std::string& caller) {
  Closure closure;
  const auto first = find(name, caller);
  if (!first) {
    closure.missing.push_back({name, caller});
    return closure;
  }
  closure.objects.push_back({name, *first, "", *elf_at(first->real)});
  std::vector<std::size_t> parents{0};
  for (std::size_t i = 0; i < closure.objects.size(); ++i) load_needs_of(i, closure, parents);
  find_gaps(closure);
  return closure;
}

std::vector<FoundLibrary> Loader::copies(const std::string& name) {
  std::vector<FoundLibrary> all;
  std::set<std::string> seen;
  const auto add = [&](std::optional<FoundLibrary> found) {
    if (found && seen.insert(found->real).second) all.push_back(std::move(*found));
  };
  for (const std::string& folder : library_path_) add(take(folder + "/" + name, "LD_LIBRARY_PATH"));
  for (const CachedLibrary& entry : cache_) {
    if (entry.soname == name) add(take(entry.path, "ld.so.cache"));
  }
  for (const std::string& folder : default_folders_) {
    add(take(folder + "/" + name, "the default folders"));
  }
  return all;
}

}  // namespace fabrail::doctor
