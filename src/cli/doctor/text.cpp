// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/text.h"

#include <algorithm>
#include <charconv>

namespace fabrail::doctor {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
    if (text.empty()) parts.emplace_back();
  }
  return parts;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t start = text.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return parts;
    text.remove_prefix(start);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> parts = split(text, '\n');
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  for (std::string& line : parts) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
  }
  return parts;
}

std::string_view trim(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kBlanks) - start + 1);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += separator;
    text += part;
  }
  return text;
}

std::string list_of(const std::vector<std::string>& parts, std::size_t most) {
  if (parts.size() <= most + 1) return join(parts, ", ");
  const auto cut = parts.begin() + static_cast<std::ptrdiff_t>(most);
  return join({parts.begin(), cut}, ", ") + " and " + std::to_string(parts.size() - most) + " more";
}

std::optional<std::int64_t> to_number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, hexadecimal ? 16 : 10);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return result;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<std::string> between(std::string_view text, std::string_view before,
                                   std::string_view after) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start + before.size());
  return std::string(text.substr(0, text.find(after)));
}

bool is_quoted(std::string_view text) {
  return text.size() >= 2 && text.front() == text.back() &&
         (text.front() == '\'' || text.front() == '"');
}

std::string counted(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace fabrail::doctor
