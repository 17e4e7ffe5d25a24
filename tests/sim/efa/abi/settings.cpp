// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Reads the FABRAIL_SIM_ environment variables.
#include "tests/sim/efa/abi/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "tests/sim/efa/core/presets.h"
#include "tests/sim/efa/core/shared_file.h"

namespace fabrail::sim {
namespace {

std::string value_of(const Lookup& lookup, const char* name, const std::string& otherwise) {
  const char* value = lookup(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::optional<uint16_t> parse_count(const std::string& text) {
  uint16_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = code == std::errc{} && end == text.data() + text.size();
  return good ? std::optional(value) : std::nullopt;
}

std::optional<Description> describe(const std::string& instance, std::string& error) {
  if (auto preset = find_preset(instance)) return preset;
  const std::string text = read_text(instance);
  if (text.empty()) {
    error = fmt::format("FABRAIL_SIM_INSTANCE={}: neither a preset ({}) nor a readable file",
                        instance, fmt::join(preset_names(), ", "));
    return std::nullopt;
  }
  auto description = parse_description(text, error);
  if (!description) error = fmt::format("{}: {}", instance, error);
  return description;
}

}  // namespace

std::optional<Settings> read_settings(const Lookup& lookup, std::string& error) {
  Settings settings;
  settings.directory =
      value_of(lookup, "FABRAIL_SIM_DIR", fmt::format("/dev/shm/fabrail-sim-{}", getuid()));
  const auto node = parse_count(value_of(lookup, "FABRAIL_SIM_NODE", "0"));
  const auto nics = parse_count(value_of(lookup, "FABRAIL_SIM_NICS", "65535"));
  if (!node || !nics || *nics == 0) {
    error = "FABRAIL_SIM_NODE and FABRAIL_SIM_NICS are numbers";
    return std::nullopt;
  }
  settings.node = *node;
  auto description = describe(value_of(lookup, "FABRAIL_SIM_INSTANCE", "p5"), error);
  if (!description) return std::nullopt;
  description->keep_nics(*nics);
  std::string set = value_of(lookup, "FABRAIL_SIM_SET", "");
  std::replace(set.begin(), set.end(), ';', '\n');
  description = parse_description(format_description(*description) + set + "\n", error);
  if (!description) {
    error = "FABRAIL_SIM_SET: " + error;
    return std::nullopt;
  }
  settings.description = std::move(*description);
  return settings;
}

}  // namespace fabrail::sim
