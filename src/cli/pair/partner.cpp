// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Messages between the two sides.
#include "src/cli/pair/partner.h"

#include <nlohmann/json.hpp>
#include <span>

#include "src/cli/common/failure.h"

namespace fabrail::cli::pair {

namespace {

using nlohmann::json;

constexpr std::size_t kMostRails = 256;

std::string hex(const std::vector<std::byte>& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::vector<std::byte> unhex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

json to_json(const Path& path) {
  json value = {{"reach", static_cast<int>(path.reach)},
                {"error", path.error},
                {"large_stuck", path.large_stuck}};
  if (path.gbits) value["gbits"] = *path.gbits;
  if (path.micros) value["micros"] = *path.micros;
  return value;
}

Path path_from(const json& value) {
  Path path;
  const int reach = value.at("reach").get<int>();
  if (reach < 0 || reach > 2) throw Failure("the other side reports a state that does not exist");
  path.reach = static_cast<Reach>(reach);
  path.error = value.at("error").get<std::string>();
  path.large_stuck = value.at("large_stuck").get<bool>();
  if (value.contains("gbits")) path.gbits = value["gbits"].get<double>();
  if (value.contains("micros")) path.micros = value["micros"].get<double>();
  return path;
}

Card card_from(const json& value) {
  Card card;
  card.side.host = value.at("host").get<std::string>();
  card.side.provider = value.at("provider").get<std::string>();
  card.side.libfabric = value.at("libfabric").get<std::string>();
  card.side.problem = value.at("problem").get<std::string>();
  for (const json& rail : value.at("rails")) {
    card.side.rails.push_back({.name = rail.at("name").get<std::string>(),
                               .speed_mbps = rail.at("speed_mbps").get<int>(),
                               .mtu = rail.at("mtu").get<int>()});
    card.addresses.push_back({.name = unhex(rail.at("address").get<std::string>()),
                              .base = rail.at("base").get<std::uint64_t>(),
                              .key = rail.at("key").get<std::uint64_t>()});
  }
  if (card.side.rails.size() > kMostRails) throw Failure("the other side has too many rails");
  return card;
}

Grid grid_from(const json& value) {
  const auto rows = value.at("rows").get<std::size_t>();
  const auto columns = value.at("columns").get<std::size_t>();
  const json& paths = value.at("paths");
  if (rows > kMostRails || columns > kMostRails || paths.size() != rows * columns) {
    throw Failure("the other side reports a table of the wrong size");
  }
  Grid grid(rows, columns);
  for (std::size_t i = 0; i < grid.paths.size(); ++i) grid.paths[i] = path_from(paths[i]);
  return grid;
}

/// `from` applied to the parsed text, whose faults become a Failure.
template <class From>
auto decoded(const std::string& text, From&& from) {
  try {
    return from(json::parse(text));
  } catch (const json::exception& error) {
    throw Failure(std::string("cannot read what the other side says (another version?): ") +
                  error.what());
  } catch (const std::logic_error& error) {
    throw Failure(std::string("cannot read an address of the other side: ") + error.what());
  }
}

}  // namespace

std::string encode(const Card& card) {
  json rails = json::array();
  for (std::size_t i = 0; i < card.side.rails.size(); ++i) {
    const RailFacts& rail = card.side.rails[i];
    const RailAddress& address = card.addresses[i];
    rails.push_back({{"name", rail.name},
                     {"speed_mbps", rail.speed_mbps},
                     {"mtu", rail.mtu},
                     {"address", hex(address.name)},
                     {"base", address.base},
                     {"key", address.key}});
  }
  return json({{"host", card.side.host},
               {"provider", card.side.provider},
               {"libfabric", card.side.libfabric},
               {"problem", card.side.problem},
               {"rails", std::move(rails)}})
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Card decode_card(const std::string& text) { return decoded(text, card_from); }

std::string encode(const Grid& grid) {
  json paths = json::array();
  for (const Path& path : grid.paths) paths.push_back(to_json(path));
  return json({{"rows", grid.rows}, {"columns", grid.columns}, {"paths", std::move(paths)}})
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Grid decode_grid(const std::string& text) { return decoded(text, grid_from); }

std::string Partner::exchange(const std::string& mine, const std::function<void()>& idle) {
  const auto all = rendezvous_.all_gather(std::as_bytes(std::span(mine)), idle);
  const auto& theirs = all[is_a() ? 1 : 0];
  return {reinterpret_cast<const char*>(theirs.data()), theirs.size()};
}

}  // namespace fabrail::cli::pair
