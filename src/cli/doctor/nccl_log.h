// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What a log written with NCCL_DEBUG=INFO says about networks, by any plugin of any age.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabrail::doctor {

/// Who wrote a line.
struct LogWriter {
  std::string host;
  std::string process;  ///< "host:pid"
};

/// `host:pid:tid` somewhere in front of a line, whatever a launcher put before it.
std::optional<LogWriter> writer_of(std::string_view line);

/// "via NET/AWS Libfabric/3(8)/GDRDMA/Shared"
struct NetConnection {
  std::string network;
  int device = 0;
  bool gdr = false;
};

/// The end of a line that reports a connection over a network; none for P2P and SHM.
std::optional<NetConnection> connection_of(std::string_view line);

/// The connections of one host over one network.
struct HostTraffic {
  std::size_t connections = 0;
  std::size_t with_gdr = 0;
  std::map<int, std::size_t> devices;  ///< device to number of connections
  std::set<std::string> processes;
};

/// "Selected provider is efa, fabric is efa (found 32 nics)"
struct SelectedProvider {
  std::string name;
  int nics = 0;  ///< 0: the line does not say
};

std::optional<SelectedProvider> provider_of(std::string_view line);

/// A line whose text is known to mean something.
struct LogSign {
  std::size_t sign = 0;  ///< index into log_signs()
  std::string line;      ///< the first one
  std::size_t count = 0;
  std::set<std::string> hosts;
};

struct NcclLog {
  std::string name;  ///< of the file
  std::size_t lines = 0;
  std::size_t nccl_lines = 0;
  std::size_t info_lines = 0;
  std::map<std::string, std::set<std::string>> networks;       ///< `Using network` to processes
  std::map<std::string, std::set<std::string>> nccl_versions;  ///< to processes
  std::map<std::string, std::set<std::string>> plugins;    ///< "aws-ofi-nccl 1.21.1" to processes
  std::map<std::string, std::set<std::string>> providers;  ///< "efa" to hosts
  std::map<std::string, std::set<int>> nics;               ///< host to the counts it found
  std::set<std::string> protocols;                         ///< RDMA, SENDRECV
  std::map<std::string, std::map<std::string, HostTraffic>> traffic;  ///< network to host
  std::vector<LogSign> signs;
};

/// Takes in one line.
void add_line(std::string_view line, NcclLog& log);

/// Reads to the end. Lines are cut at 4096 bytes.
NcclLog read_nccl_log(std::istream& input, std::string name);

/// Where a known text belongs.
enum class SignKind {
  kLoad,         ///< why a plugin was not used, precisely
  kLoadGeneric,  ///< that a plugin was not used
  kError,        ///< why a job failed or hung
};

/// A text that is known to mean something, and what.
struct SignText {
  SignKind kind;
  const char* text;
  const char* also;  ///< must stand in the same line; "" if nothing
  const char* why;
  const char* action;
};

/// All of them, the more precise ones first.
std::span<const SignText> log_signs();

}  // namespace fabrail::doctor
