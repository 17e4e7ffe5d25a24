// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/pci_address.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace fabrail::topology {

namespace {

// Takes hexadecimal digits up to `end` (or the end of the text) off the front of `rest`.
std::optional<std::uint32_t> take_hex(std::string_view& rest, char end, std::size_t max_digits) {
  const std::size_t digits = end == '\0' ? rest.size() : rest.find(end);
  if (digits == std::string_view::npos || digits == 0 || digits > max_digits) return std::nullopt;
  std::uint32_t value = 0;
  const char* stop = rest.data() + digits;
  const auto [parsed, error] = std::from_chars(rest.data(), stop, value, 16);
  if (error != std::errc{} || parsed != stop) return std::nullopt;
  rest.remove_prefix(std::min(rest.size(), digits + 1));
  return value;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  const bool has_domain = std::count(text.begin(), text.end(), ':') == 2;
  const auto domain = has_domain ? take_hex(text, ':', 8) : 0;
  const auto bus = take_hex(text, ':', 2);
  const auto device = bus ? take_hex(text, '.', 2) : std::nullopt;
  const auto function = device ? take_hex(text, '\0', 1) : std::nullopt;
  if (!domain || !function || *device > 31 || *function > 7) return std::nullopt;
  return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device),
                    static_cast<std::uint8_t>(*function)};
}

std::string to_text(const PciAddress& address) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", address.domain, address.bus, address.device,
                address.function);
  return text;
}

}  // namespace fabrail::topology
