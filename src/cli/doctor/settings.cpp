// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/settings.h"

#include <fmt/format.h>

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr const char* kEnvironment = "the environment";
constexpr std::size_t kMostComplaints = 20;

bool has_blank(std::string_view text) {
  return text.find_first_of(" \t") != std::string_view::npos;
}

/// What is wrong with a line that NCCL splits at its first '=' without trimming; "" if nothing.
std::string fault_of(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return "has no '=': NCCL ignores it";
  if (line.starts_with("export ")) return "starts with 'export': NCCL takes that as the name";
  if (has_blank(line.substr(0, equals))) return "has blanks in the name: NCCL keeps them";
  return {};
}

void add_line(const std::string& path, std::size_t number, std::string_view line,
              Settings& settings) {
  if (line.empty() || line.front() == '#' || trim(line).empty()) return;
  if (const std::string fault = fault_of(line); !fault.empty()) {
    if (settings.complaints.size() < kMostComplaints) {
      settings.complaints.push_back({fmt::format("{}:{}", path, number), fault});
    }
    return;
  }
  const std::size_t equals = line.find('=');
  settings.values.emplace(line.substr(0, equals),
                          Setting{std::string(line.substr(equals + 1)), path});
}

void read_conf_file(const System& system, const std::string& path, Settings& settings) {
  const auto text = system.read(path);
  if (!text) return;
  settings.files.push_back(path);
  add_conf(path, *text, settings);
}

}  // namespace

std::optional<std::string> Settings::value(std::string_view name) const {
  const auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  return found->second.value;
}

std::string Settings::shown(std::string_view name) const {
  const auto found = values.find(name);
  if (found == values.end()) return fmt::format("{} is not set", name);
  std::string text = fmt::format("{}={}", name, found->second.value.substr(0, 200));
  if (found->second.source == kEnvironment) return text;
  return fmt::format("{} (from {})", text, found->second.source);
}

bool Settings::is_on(std::string_view name) const {
  const std::string text = lower(trim(value(name).value_or("")));
  return !text.empty() && text != "0" && text != "false" && text != "no" && text != "off" &&
         text != "n";
}

void add_conf(const std::string& path, std::string_view text, Settings& settings) {
  std::size_t number = 0;
  for (const std::string& line : lines(text)) add_line(path, ++number, line, settings);
}

Settings read_settings(const System& system) {
  Settings settings;
  for (const auto& [name, value] : system.environment) {
    settings.values.emplace(name, Setting{value, kEnvironment});
  }
  // NCCL reads the file that NCCL_CONF_FILE names instead of the one in the home folder.
  const std::string own = system.variable("NCCL_CONF_FILE").value_or("");
  const std::string home = system.variable("HOME").value_or("/root");
  read_conf_file(system, own.empty() ? home + "/.nccl.conf" : own, settings);
  read_conf_file(system, "/etc/nccl.conf", settings);
  return settings;
}

}  // namespace fabrail::doctor
