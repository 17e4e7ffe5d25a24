// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Looks on the disk while tests are discovered, that is when ctest starts: what was fetched after
// the build is found too.
#include "tests/nccl/libraries.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <stdexcept>

namespace fabrail::nccl_test {
namespace {

namespace fs = std::filesystem;

/// Files `directory`/*/`tail`, sorted.
std::vector<fs::path> files_below(const fs::path& directory, const fs::path& tail) {
  std::vector<fs::path> files;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(directory, absent)) {
    if (fs::is_regular_file(entry.path() / tail)) files.push_back(entry.path() / tail);
  }
  std::ranges::sort(files);
  return files;
}

std::string as_identifier(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

fs::path fetched_directory() {
  const char* chosen = std::getenv("FABRAIL_NCCL_DIR");
  return chosen == nullptr ? FABRAIL_NCCL_DIR : chosen;
}

std::vector<fs::path> installed_libraries() {
  std::vector<fs::path> files = files_below("/usr/local", "lib64/libnccl.so.2");
  for (const fs::path& file : files_below("/usr/lib", "libnccl.so.2")) files.push_back(file);
  return files;
}

/// NCCL reads the name before init(), so it can be read here as well.
std::string network_of(const fs::path& plugin) {
  void* handle = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* table = handle == nullptr ? nullptr : dlsym(handle, "ncclNetPlugin_v8");
  if (table == nullptr) throw std::runtime_error(plugin.string() + ": " + dlerror());
  std::string name = *static_cast<const char**>(table);
  dlclose(handle);
  return name;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Pair& pair) {
  return out << pair.library.path.string();
}

std::vector<Library> find_libraries() {
  std::vector<Library> libraries;
  for (const fs::path& file : files_below(fetched_directory(), "libnccl.so.2")) {
    libraries.push_back({as_identifier(file.parent_path().filename()), file});
  }
  std::vector<fs::path> seen;  // /usr/local/cuda is a link to one of its neighbours
  for (const fs::path& file : installed_libraries()) {
    const fs::path real = fs::canonical(file);
    if (std::ranges::find(seen, real) != seen.end()) continue;
    seen.push_back(real);
    libraries.push_back({as_identifier(real.parent_path().relative_path()), real});
  }
  return libraries;
}

std::vector<Plugin> find_plugins() {
  std::vector<Plugin> plugins = {{.id = "stub",
                                  .path = FABRAIL_STUB_PLUGIN,
                                  .network = "",
                                  .enabled = {},
                                  .without_device = {{"STUB_DEVICES", "0"}}},
                                 {.id = "fabrail",
                                  .path = FABRAIL_PLUGIN,
                                  .network = "",
                                  .enabled = {{"FABRAIL_PROVIDER", "tcp"}},
                                  .without_device = {{"FABRAIL_LIBFABRIC", "/nonexistent"}}}};
  std::erase_if(plugins, [](const Plugin& plugin) { return !fs::exists(plugin.path); });
  for (Plugin& plugin : plugins) plugin.network = network_of(plugin.path);
  return plugins;
}

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  const std::vector<Plugin> plugins = find_plugins();
  for (const Library& library : find_libraries()) {
    for (const Plugin& plugin : plugins) pairs.push_back({library, plugin});
  }
  return pairs;
}

std::vector<Pair> pairs_with(const std::string& plugin_id) {
  std::vector<Pair> pairs = all_pairs();
  std::erase_if(pairs, [&](const Pair& pair) { return pair.plugin.id != plugin_id; });
  return pairs;
}

}  // namespace fabrail::nccl_test
