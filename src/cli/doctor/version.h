// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Version numbers of libraries, drivers and kernels, compared by their first three parts.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace fabrail::doctor {

/// "2.4.0amzn3.0" is 2.4.0 with that text.
struct Version {
  std::array<int, 3> parts{};
  std::string text;

  /// The version at the beginning of `text`; none if that does not start with a digit and a dot.
  static std::optional<Version> parse(std::string_view text);

  /// Whether this is at least major.minor.patch.
  [[nodiscard]] bool at_least(int major, int minor, int patch = 0) const;

  std::strong_ordering operator<=>(const Version& other) const { return parts <=> other.parts; }
  bool operator==(const Version& other) const { return parts == other.parts; }
};

/// The text of a version that may not be known.
std::string text_of(const std::optional<Version>& version);

/// Whether a version that may not be known is known to be older than major.minor.patch.
bool older_than(const std::optional<Version>& version, int major, int minor, int patch = 0);

}  // namespace fabrail::doctor
