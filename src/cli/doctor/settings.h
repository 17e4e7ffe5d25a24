// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The settings that reach NCCL, its net plugin and libfabric: the environment, then NCCL's files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/doctor/system.h"

namespace fabrail::doctor {

/// A value and the place that it came from.
struct Setting {
  std::string value;
  std::string source;  ///< "the environment" or the path of a file
};

/// A line of a file that NCCL does not take as its author meant it.
struct ConfComplaint {
  std::string place;  ///< "/etc/nccl.conf:3"
  std::string text;
};

/// All settings by name. An environment variable wins over files, an earlier file over a later one:
/// NCCL never overwrites what is set.
struct Settings {
  std::map<std::string, Setting, std::less<>> values;
  std::vector<ConfComplaint> complaints;
  std::vector<std::string> files;  ///< those that were read

  /// The value, if set; an empty value counts as set.
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
  /// "NAME=VALUE (from FILE)" for people.
  [[nodiscard]] std::string shown(std::string_view name) const;
  /// Whether the value is set and means yes.
  [[nodiscard]] bool is_on(std::string_view name) const;
};

/// Adds the lines of one file in NCCL's format to `settings`: NAME=VALUE, '#' starts a comment.
void add_conf(const std::string& path, std::string_view text, Settings& settings);

Settings read_settings(const System& system);

}  // namespace fabrail::doctor
