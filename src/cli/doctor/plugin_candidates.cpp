// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// How each NCCL release turns NCCL_NET_PLUGIN into file names.
#include "src/cli/doctor/software.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr const char* kDefaultFile = "libnccl-net.so";

std::string by_short_name(const std::string& name) { return "libnccl-net-" + name + ".so"; }

bool is_file_name(const std::string& name) {
  return name.starts_with("lib") && name.ends_with(".so");
}

/// NCCL 2.27.3 takes a library file name as it is and anything else, paths too, as a short name.
std::vector<std::string> candidates_2_27_3(const std::string& name) {
  return {is_file_name(name) ? name : by_short_name(name)};
}

std::vector<std::string> candidates_now(const std::string& name) {
  if (contains(name, "/") || is_file_name(name)) return {name};
  return {name, by_short_name(name)};
}

std::vector<std::string> candidates_of_list(const std::string& setting, bool paths_break) {
  std::vector<std::string> all;
  for (const std::string& name : split(setting, ',')) {
    if (name.empty()) continue;
    for (std::string& file : paths_break ? candidates_2_27_3(name) : candidates_now(name)) {
      all.push_back(std::move(file));
    }
  }
  return all;
}

}  // namespace

std::vector<std::string> plugin_candidates(const std::optional<std::string>& setting,
                                           const std::optional<Version>& nccl) {
  const bool lists = !older_than(nccl, 2, 27);
  if (!setting || (setting->empty() && !lists)) return {kDefaultFile};
  if (older_than(nccl, 2, 21)) return {by_short_name(*setting)};
  if (!lists) return {*setting, by_short_name(*setting)};
  if (!older_than(nccl, 2, 28) && lower(*setting) == "none") return {};
  return candidates_of_list(*setting, older_than(nccl, 2, 27, 5));
}

}  // namespace fabrail::doctor
