// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Recognises NCCL, net plugins and libfabric by what stands in their files.
#include <algorithm>

#include "src/cli/doctor/software.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

std::optional<ByteSource> open_source(const System& system, const std::string& path) {
  const auto host = system.on_host(path);
  return host ? ByteSource::open(*host) : std::nullopt;
}

/// "1.17.0" and "2.4.0amzn3.0", but no address ("1.1.1.1") and no protocol version ("1.1").
bool is_release_number(std::string_view text) {
  if (text.size() < 5 || text[0] < '1' || text[0] > '9' || text[1] != '.') return false;
  const std::vector<std::string> parts = split(text.substr(0, text.find("amzn")), '.');
  return parts.size() == 3 && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           return to_number(part).has_value();
         });
}

/// "ncclNetPlugin_v8" is 8.
std::optional<int> abi_version(std::string_view symbol) {
  constexpr std::string_view kStart = "ncclNetPlugin_v";
  if (!symbol.starts_with(kStart)) return std::nullopt;
  const auto number = to_number(symbol.substr(kStart.size()));
  if (!number || *number < 0 || *number > 1000) return std::nullopt;
  return static_cast<int>(*number);
}

std::vector<int> exported_abis(const ByteSource& source) {
  std::vector<int> versions;
  const auto symbols = read_elf_symbols(source);
  if (!symbols.ok()) return versions;
  for (const std::string& name : symbols.value().defined) {
    if (const auto version = abi_version(name)) versions.push_back(*version);
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

/// The version that stands in a text of the form "PREFIX1.2.3".
std::optional<Version> version_after(const ByteSource& source, std::string_view prefix) {
  const auto text = source.find_behind(
      prefix, [](std::string_view found) { return Version::parse(found).has_value(); });
  return text ? Version::parse(*text) : std::nullopt;
}

}  // namespace

const char* name_of(PluginKind kind) {
  switch (kind) {
    case PluginKind::kFabrail:
      return "fabrail";
    case PluginKind::kAwsOfiNccl:
      return "aws-ofi-nccl";
    case PluginKind::kHpcx:
      return "the HPC-X plugin for InfiniBand";
    case PluginKind::kOther:
      break;
  }
  return "an unknown plugin";
}

std::optional<Version> nccl_version_of(const System& system, const std::string& path) {
  const auto source = open_source(system, path);
  return source ? version_after(*source, "NCCL version ") : std::nullopt;
}

LibfabricCopy read_libfabric(const System& system, const FoundLibrary& file) {
  LibfabricCopy copy;
  copy.file = file;
  const auto source = open_source(system, file.real);
  if (!source) return copy;
  // libfabric keeps its version as a text of its own: "1.17.0" or "2.4.0amzn3.0".
  const auto text = source->find_behind(std::string_view("\0", 1), is_release_number);
  if (text) copy.version = Version::parse(*text);
  copy.has_efa = source->has_text("efadv_");
  copy.has_cuda = source->has_text("cuPointerGetAttribute");
  return copy;
}

std::optional<int> verbs_abi_of(const System& system, const std::string& path) {
  const auto source = open_source(system, path);
  if (!source) return std::nullopt;
  const auto text = source->find_behind("lib%s-rdmav", [](std::string_view) { return true; });
  const auto number = to_number(text.value_or("").substr(0, text.value_or("").find('.')));
  if (!number || *number < 0 || *number > 10000) return std::nullopt;
  return static_cast<int>(*number);
}

Plugin read_plugin(const System& system, const FoundLibrary& file) {
  Plugin plugin;
  plugin.file = file;
  const auto source = open_source(system, file.real);
  if (!source) return plugin;
  plugin.abi_versions = exported_abis(*source);
  if (source->has_text("FABRAIL_PROVIDER")) {
    plugin.kind = PluginKind::kFabrail;
  } else if (contains(file.real, "hpcx") || contains(file.real, "nccl_rdma_sharp")) {
    plugin.kind = PluginKind::kHpcx;
  } else if (source->has_text("aws-ofi-nccl")) {
    plugin.kind = PluginKind::kAwsOfiNccl;
    plugin.version = version_after(*source, "aws-ofi-nccl ");
  }
  return plugin;
}

}  // namespace fabrail::doctor
