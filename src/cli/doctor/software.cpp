// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/software.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_set>

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

/// Where installers put net plugins, whether or not the loader looks there.
constexpr const char* kPluginFolders[] = {
    "/opt/amazon/ofi-nccl/lib",
    "/opt/amazon/ofi-nccl/lib64",
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
    "/opt/amazon/ofi-nccl/lib/aarch64-linux-gnu",
    "/opt/aws-ofi-nccl/lib",
    "/opt/aws-ofi-nccl/install/lib",
    "/opt/hpcx/nccl_rdma_sharp_plugin/lib",
    "/opt/fabrail/lib",
    "/usr/local/lib",
};

/// Folders below which a Python environment keeps its packages.
constexpr const char* kPythonRoots[] = {"/usr/lib", "/usr/local/lib", "/opt/conda/lib",
                                        "/opt/venv/lib"};

std::vector<std::string> python_nccl_files(const System& system, const Settings& settings) {
  std::vector<std::string> roots(std::begin(kPythonRoots), std::end(kPythonRoots));
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto root = settings.value(name)) roots.insert(roots.begin(), *root + "/lib");
  }
  std::vector<std::string> files;
  for (const std::string& root : roots) {
    for (const std::string& entry : system.list(root)) {
      if (!entry.starts_with("python3")) continue;
      for (const char* packages : {"/site-packages", "/dist-packages"}) {
        const std::string file = root + "/" + entry + packages + "/nvidia/nccl/lib/libnccl.so.2";
        if (system.exists(file)) files.push_back(file);
      }
    }
  }
  return files;
}

void find_nccl(const System& system, const Settings& settings, Loader& loader, Software& software) {
  std::set<std::string> seen;
  const auto add = [&](const FoundLibrary& file) {
    if (!seen.insert(file.real).second) return;
    software.nccl.push_back({file, nccl_version_of(system, file.real)});
  };
  for (const FoundLibrary& file : loader.copies("libnccl.so.2")) add(file);
  for (const std::string& path : python_nccl_files(system, settings)) {
    if (const auto real = system.resolve(path)) add({path, *real, "its Python package"});
  }
}

/// All libnccl-net*.so files in a folder that are no symbolic link to one another.
void find_plugins_in(const System& system, const std::string& folder, const std::string& why,
                     std::set<std::string>& seen, std::vector<Plugin>& plugins) {
  for (const std::string& name : system.list(folder)) {
    if (!name.starts_with("libnccl-net") || !contains(name, ".so")) continue;
    const std::string path = folder + "/" + name;
    const auto real = system.resolve(path);
    if (!real || !seen.insert(*real).second) continue;
    plugins.push_back(read_plugin(system, {path, *real, why}));
  }
}

void find_other_plugins(const System& system, const Loader& loader, Software& software) {
  std::set<std::string> seen;
  if (software.plugin) seen.insert(software.plugin->file.real);
  for (const std::string& folder : loader.library_path()) {
    find_plugins_in(system, folder, "LD_LIBRARY_PATH", seen, software.other_plugins);
  }
  for (const std::string& folder : loader.configured_folders()) {
    find_plugins_in(system, folder, "ld.so.conf", seen, software.other_plugins);
  }
  for (const char* folder : kPluginFolders) {
    find_plugins_in(system, folder, "", seen, software.other_plugins);
  }
}

void find_plugin(const System& system, const Settings& settings, Loader& loader,
                 Software& software) {
  const auto setting = settings.value("NCCL_NET_PLUGIN");
  const std::string caller = software.nccl.empty() ? "" : software.nccl.front().file.path;
  software.plugin_candidates = plugin_candidates(setting, software.nccl_version());
  software.plugin_disabled = software.plugin_candidates.empty();
  for (const std::string& name : software.plugin_candidates) {
    const auto file = loader.find(name, caller);
    if (!file || !loader.is_library(*file)) continue;
    software.plugin = read_plugin(system, *file);
    software.stack = loader.load(name, caller);
    return;
  }
}

/// Adds what a plugin that opens libfabric by itself will load: the part of the stack that no
/// DT_NEEDED shows.
void add_libfabric_closure(const Settings& settings, Loader& loader, Software& software) {
  if (software.plugin->kind != PluginKind::kFabrail) return;
  const std::string wanted = settings.value("FABRAIL_LIBFABRIC").value_or("libfabric.so.1");
  Closure closure = loader.load(wanted.empty() ? "libfabric.so.1" : wanted);
  if (closure.objects.empty()) closure = loader.load("/opt/amazon/efa/lib64/libfabric.so.1");
  if (closure.objects.empty()) closure = loader.load("/opt/amazon/efa/lib/libfabric.so.1");
  if (closure.objects.empty()) return;  // reported as such
  auto& stack = software.stack;
  for (LoadedObject& object : closure.objects) {
    if (stack.find(object.name) == nullptr) stack.objects.push_back(std::move(object));
  }
  std::move(closure.missing.begin(), closure.missing.end(), std::back_inserter(stack.missing));
  std::move(closure.gaps.begin(), closure.gaps.end(), std::back_inserter(stack.gaps));
}

void find_libfabric(const System& system, Loader& loader, Software& software) {
  std::set<std::string> seen;
  const auto add = [&](const FoundLibrary& file) {
    if (!seen.insert(file.real).second) return;
    software.libfabric.push_back(read_libfabric(system, file));
  };
  if (const LoadedObject* used = software.stack.find("libfabric.so.1")) add(used->library);
  for (const FoundLibrary& file : loader.copies("libfabric.so.1")) add(file);
  for (const char* path :
       {"/opt/amazon/efa/lib64/libfabric.so.1", "/opt/amazon/efa/lib/libfabric.so.1"}) {
    if (const auto real = system.resolve(path)) add({path, *real, ""});
  }
}

std::optional<FoundLibrary> library_of(const Closure& stack, Loader& loader, const char* soname) {
  if (const LoadedObject* object = stack.find(soname)) return object->library;
  return loader.find(soname);
}

std::optional<FoundLibrary> find_tuner(const Settings& settings, Loader& loader,
                                       const std::string& caller) {
  const auto setting = settings.value("NCCL_TUNER_PLUGIN");
  if (!setting || setting->empty()) return std::nullopt;
  if (auto found = loader.find(*setting, caller)) return found;
  return loader.find("libnccl-tuner-" + *setting + ".so", caller);
}

/// Why a candidate that somebody put somewhere is not found.
void explain_missing_plugin(const System& system, Loader& loader, Software& software) {
  if (software.plugin) return;
  for (const std::string& name : software.plugin_candidates) {
    for (const std::string& folder : loader.configured_folders()) {
      if (loader.find(folder + "/" + name)) software.uncached.push_back(folder + "/" + name);
    }
    const bool path = contains(name, "/");
    const std::vector<std::string> nowhere{""};
    for (const std::string& folder : path ? nowhere : loader.library_path()) {
      const std::string file = path ? name : folder + "/" + name;
      if (system.exists(file)) software.unloadable.push_back(file);
    }
  }
}

/// The drivers that libibverbs loads for each kind of device carry the number of its private ABI.
void find_efa_providers(const System& system, Software& software) {
  if (!software.libibverbs) return;
  const std::string& real = software.libibverbs->real;
  software.verbs_abi = verbs_abi_of(system, real);
  const std::string folder = real.substr(0, real.rfind('/'));
  for (const std::string& place : {folder + "/libibverbs", folder}) {
    for (const std::string& name : system.list(place)) {
      if (name.starts_with("libefa-rdmav")) software.efa_providers.push_back(place + "/" + name);
    }
  }
}

/// The C library takes symbols from the loader: without its file they cannot be judged.
bool lacks_loader(const Closure& stack) {
  for (const LoadedObject& object : stack.objects) {
    for (const std::string& name : object.elf.needed) {
      if (name.starts_with("ld-linux") && stack.find(name) == nullptr) return true;
    }
  }
  return false;
}

/// What RTLD_NOW would stumble over. Only meaningful when nothing is missing from the stack.
std::vector<std::string> undefined_symbols(const System& system, const Closure& stack) {
  if (lacks_loader(stack)) return {};
  std::vector<std::pair<std::string, std::string>> wanted;
  std::unordered_set<std::string> defined;
  for (const LoadedObject& object : stack.objects) {
    const auto host = system.on_host(object.library.real);
    const auto source = host ? ByteSource::open(*host) : std::nullopt;
    auto symbols = source ? read_elf_symbols(*source) : Result<ElfSymbols>(Error{});
    if (!symbols.ok()) return {};  // cannot be judged
    for (std::string& name : symbols.value().defined) defined.insert(std::move(name));
    for (std::string& name : symbols.value().undefined) {
      wanted.emplace_back(std::move(name), object.library.path);
    }
  }
  std::vector<std::string> undefined;
  for (const auto& [name, path] : wanted) {
    if (defined.count(name) == 0) undefined.push_back(name + " (needed by " + path + ")");
  }
  return undefined;
}

/// "# EFA installer version: 1.43.2"
std::optional<Version> read_installer_version(const System& system) {
  const auto text = system.read("/opt/amazon/efa_installed_packages");
  const auto version = between(text.value_or(""), "EFA installer version:", "\n");
  return version ? Version::parse(trim(*version)) : std::nullopt;
}

}  // namespace

std::optional<Version> Software::nccl_version() const {
  return nccl.empty() ? std::nullopt : nccl.front().version;
}

std::optional<Version> Software::libfabric_version() const {
  return libfabric.empty() ? std::nullopt : libfabric.front().version;
}

Software read_software(const System& system, const Settings& settings) {
  Software software;
  Loader loader(system);
  find_nccl(system, settings, loader, software);
  find_plugin(system, settings, loader, software);
  find_other_plugins(system, loader, software);
  if (software.plugin) add_libfabric_closure(settings, loader, software);
  find_libfabric(system, loader, software);
  software.libibverbs = library_of(software.stack, loader, "libibverbs.so.1");
  software.libefa = library_of(software.stack, loader, "libefa.so.1");
  software.libcuda = loader.find("libcuda.so.1");
  software.libgdrapi = loader.find("libgdrapi.so.2");
  software.tuner =
      find_tuner(settings, loader, software.nccl.empty() ? "" : software.nccl[0].file.path);
  explain_missing_plugin(system, loader, software);
  find_efa_providers(system, software);
  if (software.plugin && software.stack.missing.empty() && software.stack.gaps.empty()) {
    software.undefined = undefined_symbols(system, software.stack);
  }
  software.efa_installer = read_installer_version(system);
  return software;
}

}  // namespace fabrail::doctor
