// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors

// Reads and writes the text form of a node's description: one `key value...` per line.
#include "tests/sim/efa/core/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <sstream>
#include <tuple>

namespace fabrail::sim {
namespace {

template <typename T>
bool parse_number(std::string_view text, T& value, int base = 10) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return code == std::errc{} && end == text.data() + text.size();
}

using Words = std::vector<std::string>;

Words split(std::string_view line) {
  std::istringstream stream{std::string(line.substr(0, line.find('#')))};
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

struct Parser {
  Description description;
  std::map<std::string, std::function<bool(const Words&)>, std::less<>> keys;

  Parser();
  bool line(const Words& words);
  bool bridge(const Words& words);
  bool function(const Words& words, FunctionKind kind);
  bool rdma(const Words& words);
  template <typename T>
  void number(const char* key, T& target) {
    keys[key] = [&target](const Words& w) { return w.size() == 2 && parse_number(w[1], target); };
  }
};

Parser::Parser() {
  Description& d = description;
  keys["instance"] = [&d](const Words& w) {
    if (w.size() == 2) d.instance = w[1];
    return w.size() == 2;
  };
  keys["generation"] = [&d](const Words& w) {
    const auto profile = find_profile(w.size() == 2 ? w[1] : "");
    if (profile) d.profile = *profile;
    return profile.has_value();
  };
  keys["rdma"] = [this](const Words& w) { return rdma(w); };
  keys["bridge"] = [this](const Words& w) { return bridge(w); };
  keys["nic"] = [this](const Words& w) { return function(w, FunctionKind::kNic); };
  keys["gpu"] = [this](const Words& w) { return function(w, FunctionKind::kGpu); };
  number("rate_gbps", d.profile.rate_gbps);
  number("send_queue_entries", d.profile.send_queue_entries);
  number("receive_queue_entries", d.profile.receive_queue_entries);
  number("cap_bytes_per_s", d.shape.rate_bytes_per_s);
  number("latency_ns", d.shape.latency_ns);
  number("jitter_ns", d.shape.jitter_ns);
  number("shuffle", d.shape.shuffle_window);
  number("seed", d.shape.seed);
  number("max_qps", d.max_qps);
  number("max_regions", d.max_regions);
  number("max_ahs", d.max_ahs);
  number("unresponsive_ms", d.unresponsive_ms);
  number("ring_bytes", d.ring_bytes);
}

bool Parser::line(const Words& words) {
  const auto key = keys.find(words[0]);
  return key != keys.end() && key->second(words);
}

/// `rdma [read] [write] [unsolicited] [whole128]`, or `rdma none`.
bool Parser::rdma(const Words& words) {
  Profile& profile = description.profile;
  profile.rdma_read = profile.rdma_write = profile.unsolicited_write = false;
  profile.writes_whole_128 = false;
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "read")
      profile.rdma_read = true;
    else if (words[i] == "write")
      profile.rdma_write = true;
    else if (words[i] == "unsolicited")
      profile.unsolicited_write = true;
    else if (words[i] == "whole128")
      profile.writes_whole_128 = true;
    else if (words[i] != "none")
      return false;
  }
  return words.size() > 1;
}

/// `bridge BUS numa N [switch]`; the functions of the following lines hang under it.
bool Parser::bridge(const Words& words) {
  PciGroup group;
  if (words.size() < 4 || words.size() > 5 || words[2] != "numa") return false;
  if (words.size() == 5 && words[4] != "switch") return false;
  group.has_switch = words.size() == 5;
  if (!parse_number(words[1], group.root_bus, 16) || !parse_number(words[3], group.numa_node))
    return false;
  description.groups.push_back(group);
  return true;
}

/// `nic ADDRESS [VENDOR:DEVICE]`, `gpu ADDRESS [VENDOR:DEVICE]`.
bool Parser::function(const Words& words, FunctionKind kind) {
  if (words.size() < 2 || words.size() > 3 || description.groups.empty()) return false;
  const auto address = parse_pci_address(words[1]);
  if (!address) return false;
  PciFunction function{kind, *address, 0x1d0f, description.profile.part_id};
  if (kind == FunctionKind::kGpu) function.vendor = 0x10de, function.device = 0x2330;
  if (words.size() == 3) {
    const std::string_view ids = words[2];
    if (ids.size() != 9 || ids[4] != ':' || !parse_number(ids.substr(0, 4), function.vendor, 16) ||
        !parse_number(ids.substr(5), function.device, 16))
      return false;
  }
  description.groups.back().functions.push_back(function);
  return true;
}

std::string format_group(const PciGroup& group) {
  std::string text = fmt::format("bridge {:02x} numa {}{}\n", group.root_bus, group.numa_node,
                                 group.has_switch ? " switch" : "");
  for (const PciFunction& function : group.functions)
    text +=
        fmt::format("{} {} {:04x}:{:04x}\n", function.kind == FunctionKind::kNic ? "nic" : "gpu",
                    pci_text(function.address), function.vendor, function.device);
  return text;
}

std::string format_rdma(const Profile& profile) {
  std::string text;
  if (profile.rdma_read) text += " read";
  if (profile.rdma_write) text += " write";
  if (profile.unsolicited_write) text += " unsolicited";
  if (profile.writes_whole_128) text += " whole128";
  return text.empty() ? " none" : text;
}

std::string generation_name(const Profile& profile) {
  return fmt::format("efa{}", profile.part_id & 0xf);
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  PciAddress address;
  if (text.size() == 12) {
    if (!parse_number(text.substr(0, 4), address.domain, 16) || text[4] != ':') return std::nullopt;
    text.remove_prefix(5);
  }
  const bool good = text.size() == 7 && text[2] == ':' && text[5] == '.' &&
                    parse_number(text.substr(0, 2), address.bus, 16) &&
                    parse_number(text.substr(3, 2), address.slot, 16) &&
                    parse_number(text.substr(6, 1), address.function, 16) && address.slot < 32 &&
                    address.function < 8;
  return good ? std::optional(address) : std::nullopt;
}

std::string pci_text(const PciAddress& a) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", a.domain, a.bus, a.slot, a.function);
}

std::string device_name(const PciAddress& address) {
  return fmt::format("rdmap{}s{}", address.bus, address.slot);
}

std::optional<Profile> find_profile(std::string_view generation) {
  Profile profile;
  if (generation == "efa0") {
    profile.part_id = 0xefa0;
    profile.rdma_write = profile.unsolicited_write = false;
  } else if (generation == "efa1") {
    profile.part_id = 0xefa1;
  } else if (generation == "efa2") {
    profile.part_id = 0xefa2;
    profile.rate_gbps = 200;
  } else if (generation == "efa3") {
    profile.part_id = 0xefa3;
    profile.rate_gbps = 400;
  } else {
    return std::nullopt;
  }
  return profile;
}

std::vector<PciFunction> Description::nics() const {
  std::vector<PciFunction> found;
  for (const PciGroup& group : groups)
    for (const PciFunction& function : group.functions)
      if (function.kind == FunctionKind::kNic) found.push_back(function);
  std::sort(found.begin(), found.end(), [](const PciFunction& a, const PciFunction& b) {
    const auto key = [](const PciAddress& p) {
      return std::tuple(p.domain, p.bus, p.slot, p.function);
    };
    return key(a.address) < key(b.address);
  });
  return found;
}

void Description::keep_nics(size_t count) {
  const auto all = nics();
  for (size_t i = count; i < all.size(); ++i)
    for (PciGroup& group : groups)
      std::erase_if(group.functions,
                    [&](const PciFunction& f) { return f.address == all[i].address; });
}

std::optional<Description> parse_description(std::string_view text, std::string& error) {
  Parser parser;
  int number = 0;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const Words words = split(line);
    if (words.empty() || parser.line(words)) continue;
    error = fmt::format("line {}: cannot read '{}'", number, line);
    return std::nullopt;
  }
  if (!parser.description.nics().empty()) return parser.description;
  error = "no nic is described";
  return std::nullopt;
}

std::string format_description(const Description& d) {
  std::string text;
  text += fmt::format("instance {}\ngeneration {}\n", d.instance.empty() ? "custom" : d.instance,
                      generation_name(d.profile));
  text += fmt::format("rdma{}\nrate_gbps {}\n", format_rdma(d.profile), d.profile.rate_gbps);
  text += fmt::format("send_queue_entries {}\nreceive_queue_entries {}\n",
                      d.profile.send_queue_entries, d.profile.receive_queue_entries);
  text += fmt::format("cap_bytes_per_s {}\nlatency_ns {}\njitter_ns {}\nshuffle {}\nseed {}\n",
                      d.shape.rate_bytes_per_s, d.shape.latency_ns, d.shape.jitter_ns,
                      d.shape.shuffle_window, d.shape.seed);
  text +=
      fmt::format("max_qps {}\nmax_regions {}\nmax_ahs {}\n", d.max_qps, d.max_regions, d.max_ahs);
  text += fmt::format("unresponsive_ms {}\nring_bytes {}\n", d.unresponsive_ms, d.ring_bytes);
  for (const PciGroup& group : d.groups) text += format_group(group);
  return text;
}

}  // namespace fabrail::sim
