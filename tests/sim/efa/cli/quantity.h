// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Rates, times and chances as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fabrail::sim {

/// `100MB`, `12.5GB`, `0`: bytes per second, decimal prefixes.
std::optional<uint64_t> parse_rate(std::string_view text);

/// `10us`, `2ms`, `1s`, `500ns`, in nanoseconds; a bare number is nanoseconds.
std::optional<uint64_t> parse_duration(std::string_view text);

/// `10%`, `0.5%`: a chance in millionths.
std::optional<uint32_t> parse_chance(std::string_view text);

}  // namespace fabrail::sim
