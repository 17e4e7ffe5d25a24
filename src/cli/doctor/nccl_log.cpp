// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/doctor/nccl_log.h"

#include <algorithm>
#include <utility>

#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostNames = 10000;  // of a kind; a hostile log must not fill the memory

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - at;
}

bool is_digits(std::string_view text) { return !text.empty() && digits_at(text, 0) == text.size(); }

template <typename Map>
void note_name(Map& map, const std::string& key, const std::string& who) {
  if (map.size() >= kMostNames && map.count(key) == 0) return;
  auto& names = map[key];
  if (names.size() < kMostNames) names.insert(who);
}

/// What a log calls this plugin: the name and version behind its greeting.
std::optional<std::string> plugin_of(std::string_view line) {
  for (const char* greeting : {"Initializing aws-ofi-nccl ", "Using aws-ofi-nccl "}) {
    if (const auto version = between(line, greeting, " ")) return "aws-ofi-nccl " + *version;
  }
  for (const char* greeting : {"NET/fabrail : fabrail ", "Initializing fabrail "}) {
    if (const auto version = between(line, greeting, " ")) return "fabrail " + *version;
  }
  return std::nullopt;
}

void add_traffic(const NetConnection& connection, const LogWriter& writer, NcclLog& log) {
  if (log.traffic.size() >= kMostNames) return;
  auto& hosts = log.traffic[connection.network];
  if (hosts.size() >= kMostNames) return;
  HostTraffic& traffic = hosts[writer.host];
  ++traffic.connections;
  if (connection.gdr) ++traffic.with_gdr;
  ++traffic.devices[connection.device];
  if (traffic.processes.size() < kMostNames) traffic.processes.insert(writer.process);
}

bool matches(const SignText& sign, std::string_view line) {
  return contains(line, sign.text) && contains(line, sign.also);
}

LogSign& sign_at(std::size_t index, std::string_view line, NcclLog& log) {
  const auto known = std::find_if(log.signs.begin(), log.signs.end(),
                                  [&](const LogSign& sign) { return sign.sign == index; });
  if (known != log.signs.end()) return *known;
  return log.signs.emplace_back(LogSign{index, std::string(trim(line)), 0, {}});
}

void add_sign(std::size_t index, std::string_view line, const LogWriter& writer, NcclLog& log) {
  LogSign& sign = sign_at(index, line, log);
  ++sign.count;
  if (sign.hosts.size() < kMostNames) sign.hosts.insert(writer.host);
}

/// The text behind "NCCL INFO " or "NCCL WARN ", or the whole line.
std::string_view message_of(std::string_view line) {
  for (const char* level : {"NCCL INFO ", "NCCL WARN "}) {
    const std::size_t at = line.find(level);
    if (at != std::string_view::npos) return line.substr(at + 10);
  }
  return line;
}

void add_facts(std::string_view line, const LogWriter& writer, NcclLog& log) {
  const std::string_view message = message_of(line);
  if (message.starts_with("Using network ")) {
    note_name(log.networks, std::string(trim(message.substr(14))), writer.process);
  }
  if (const auto version = between(line, "NCCL version ", "+")) {
    if (version->size() < 32) note_name(log.nccl_versions, *version, writer.process);
  }
  if (const auto plugin = plugin_of(line)) note_name(log.plugins, *plugin, writer.process);
  if (const auto provider = provider_of(line)) {
    note_name(log.providers, provider->name, writer.host);
    if (provider->nics > 0 && log.nics.size() < kMostNames) {
      log.nics[writer.host].insert(provider->nics);
    }
  }
  if (const auto protocol = between(line, "Using transport protocol ", " ")) {
    if (log.protocols.size() < kMostNames) log.protocols.insert(*protocol);
  }
  if (const auto connection = connection_of(line)) add_traffic(*connection, writer, log);
}

}  // namespace

std::optional<LogWriter> writer_of(std::string_view line) {
  for (const std::string& word : words(line.substr(0, 256))) {
    std::vector<std::string> parts = split(word, ':');
    if (parts.size() < 3 || !is_digits(parts.back()) || !is_digits(parts[parts.size() - 2]))
      continue;
    const std::string host = parts[parts.size() - 3];
    if (host.empty() || is_digits(host)) continue;  // the time of day
    return LogWriter{host, host + ":" + parts[parts.size() - 2]};
  }
  return std::nullopt;
}

std::optional<NetConnection> connection_of(std::string_view line) {
  const auto rest = between(line, " via NET/", "\n");
  if (!rest) return std::nullopt;
  const std::size_t slash = rest->find('/');
  if (slash == std::string::npos || slash == 0) return std::nullopt;
  const std::size_t length = digits_at(*rest, slash + 1);
  const auto device = to_number(std::string_view(*rest).substr(slash + 1, length));
  if (!device || *device > 100000) return std::nullopt;
  return NetConnection{rest->substr(0, slash), static_cast<int>(*device),
                       contains(std::string_view(*rest).substr(slash + 1 + length), "/GDRDMA")};
}

std::optional<SelectedProvider> provider_of(std::string_view line) {
  const std::string text = lower(line);
  auto name = between(text, "selected provider is ", " ");
  if (!name) return std::nullopt;
  while (!name->empty() && name->back() == ',') name->pop_back();
  const auto nics = to_number(between(text, "(found ", " ").value_or("0"));
  return SelectedProvider{*name,
                          static_cast<int>(std::clamp<std::int64_t>(nics.value_or(0), 0, 1 << 20))};
}

void add_line(std::string_view line, NcclLog& log) {
  ++log.lines;
  line = line.substr(0, kLongestLine);
  if (contains(line, "NCCL ")) ++log.nccl_lines;
  if (contains(line, "NCCL INFO")) ++log.info_lines;
  const LogWriter writer = writer_of(line).value_or(LogWriter{"?", "?"});
  add_facts(line, writer, log);
  const auto signs = log_signs();
  for (std::size_t i = 0; i < signs.size(); ++i) {
    if (!matches(signs[i], line)) continue;
    add_sign(i, line, writer, log);
    break;
  }
}

NcclLog read_nccl_log(std::istream& input, std::string name) {
  NcclLog log;
  log.name = std::move(name);
  for (std::string line; std::getline(input, line);) add_line(line, log);
  return log;
}

}  // namespace fabrail::doctor
