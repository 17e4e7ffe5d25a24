// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/version.h"

#include <charconv>

namespace fabrail::doctor {

namespace {

bool is_version_letter(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || letter == '.' ||
         letter == '-' || letter == '+' || letter == '_' || letter == '~';
}

}  // namespace

std::optional<Version> Version::parse(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && length < 48 && is_version_letter(text[length])) ++length;
  Version version;
  version.text = std::string(text.substr(0, length));
  const char* at = version.text.data();
  const char* end = at + version.text.size();
  std::size_t found = 0;
  while (found < version.parts.size()) {
    const auto [stop, error] = std::from_chars(at, end, version.parts[found]);
    if (error != std::errc{}) break;
    ++found;
    at = stop;
    if (at == end || *at != '.') break;
    ++at;
  }
  if (found < 2) return std::nullopt;
  return version;
}

bool Version::at_least(int major, int minor, int patch) const {
  return parts >= std::array<int, 3>{major, minor, patch};
}

std::string text_of(const std::optional<Version>& version) {
  return version ? version->text : "of unknown version";
}

bool older_than(const std::optional<Version>& version, int major, int minor, int patch) {
  return version && !version->at_least(major, minor, patch);
}

}  // namespace fabrail::doctor
