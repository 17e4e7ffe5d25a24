// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Parses a number with a unit.
#include "tests/sim/efa/cli/quantity.h"

#include <charconv>
#include <span>

namespace fabrail::sim {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

std::optional<double> parse(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || number < 0) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  for (const Unit& unit : units)
    if (unit.name == suffix) return number * unit.factor;
  return std::nullopt;
}

template <typename T>
std::optional<T> rounded(std::optional<double> value) {
  return value ? std::optional(static_cast<T>(*value + 0.5)) : std::nullopt;
}

constexpr Unit kRates[] = {{"", 1},    {"B", 1},    {"K", 1e3}, {"KB", 1e3},
                           {"M", 1e6}, {"MB", 1e6}, {"G", 1e9}, {"GB", 1e9}};
constexpr Unit kTimes[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit kChances[] = {{"%", 1e4}};

}  // namespace

std::optional<uint64_t> parse_rate(std::string_view text) {
  return rounded<uint64_t>(parse(text, kRates));
}

std::optional<uint64_t> parse_duration(std::string_view text) {
  return rounded<uint64_t>(parse(text, kTimes));
}

std::optional<uint32_t> parse_chance(std::string_view text) {
  const auto value = rounded<uint32_t>(parse(text, kChances));
  return value && *value <= 1'000'000 ? value : std::nullopt;
}

}  // namespace fabrail::sim
