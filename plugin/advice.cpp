// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/advice.h"

#include <strings.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "topology/environment.h"
#include "topology/nccl_lint.h"
#include "topology/nccl_xml.h"

namespace fabrail::plugin {

namespace {

// More than any machine needs: NCCL takes 256 elements.
constexpr std::uintmax_t kLargestFile = 4 << 20;
// A file for another machine has something wrong on every line.
constexpr std::size_t kMostFindings = 8;

Reader reader_of(std::string_view variable) {
  return variable.starts_with("FI_") ? Reader::kLibfabric : Reader::kNccl;
}

// Only regular files: reading a pipe would take from NCCL what it is about to read.
std::optional<std::string> read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes > kLargestFile) return std::nullopt;
  std::ifstream stream(path);
  if (!stream) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

void report(const std::string& path, const std::vector<topology::Finding>& findings,
            const Logger& logger) {
  std::size_t warned = 0;
  for (const topology::Finding& finding : findings) {
    if (finding.severity == topology::Severity::kNote) continue;
    if (++warned > kMostFindings) continue;
    logger.warn("%s:%d: %s%s", path.c_str(), finding.line,
                finding.severity == topology::Severity::kError ? "NCCL will fail: " : "",
                finding.text.c_str());
  }
  if (warned > kMostFindings) {
    logger.warn("%s: %zu more; fabrail topo --lint %s shows all", path.c_str(),
                warned - kMostFindings, path.c_str());
  }
  if (warned == 0) logger.info("%s: checked, describes this machine", path.c_str());
}

void check_file(const char* whose, const std::string& path, const TopologyRequest& request,
                const Logger& logger) {
  logger.info("NCCL reads the topology of %s, %s", whose, path.c_str());
  const auto text = read_file(path);
  if (!text) {
    logger.warn("%s cannot be read (or is no file of at most 4 MiB): NCCL will go on without it",
                path.c_str());
    return;
  }
  const auto devices = topology::visible_devices(request.machine, request.nics, request.plan);
  report(path, topology::lint_nccl_xml(*text, devices), logger);
}

// NICs whose place decides whether they reach the GPUs' memory: those of tcp never do.
bool has_rdma_nic(const TopologyRequest& request) {
  return std::ranges::any_of(request.nics, [&](const topology::Nic& nic) {
    const int node = nic.pci ? request.machine.tree.find_device(*nic.pci) : -1;
    return node >= 0 && (topology::efa_generation(request.machine.tree.at(node)) > 0 ||
                         !request.machine.tree.at(node).rdma_name.empty());
  });
}

topology::NcclXml xml_for(const TopologyRequest& request) {
  if (!has_rdma_nic(request)) return {"", "no NIC here could reach a GPU's memory"};
  return topology::make_nccl_xml(request.machine, request.nics, request.plan);
}

std::optional<topology::TopologyFile> hand_over(const topology::NcclXml& xml,
                                                const ProcessEnvironment& environment,
                                                const Logger& logger) {
  auto file = topology::TopologyFile::open(xml.text);
  if (!file.ok()) {
    logger.warn("NCCL gets no topology file, though %s: %s", xml.reason.c_str(),
                file.error().detail);
    return std::nullopt;
  }
  const std::string path = file.value().path();
  environment.set(kTopologyVariable, path.c_str());
  logger.info("%s=%s set: %s", kTopologyVariable, path.c_str(), xml.reason.c_str());
  return file.take();
}

void set_unless_set(const topology::Recommendation& row, const ProcessEnvironment& environment,
                    const Logger& logger) {
  const std::string name(row.name);
  const std::string value(row.value);
  const std::string reason(row.reason);
  const std::string unless(row.unless);
  if (const char* own = environment.get(name.c_str())) {
    logger.info("%s=%s was set and stays; %s is recommended here: %s", name.c_str(), own,
                value.c_str(), reason.c_str());
  } else if (!unless.empty() && environment.get(unless.c_str()) != nullptr) {
    logger.info("%s is not set, as %s is", name.c_str(), unless.c_str());
  } else {
    environment.set(name.c_str(), value.c_str());
    logger.info("%s=%s set: %s", name.c_str(), value.c_str(), reason.c_str());
  }
}

constexpr const char* kProtocolVariable = "NCCL_PROTO";

// As NCCL reads it: names in any case, separated by commas; a leading ^ means all others.
bool asks_for(std::string_view setting, std::string_view protocol) {
  const bool inverted = setting.starts_with('^');
  if (inverted) setting.remove_prefix(1);
  bool named = false;
  while (!setting.empty()) {
    const std::string_view item = setting.substr(0, setting.find(','));
    named = named || (item.size() == protocol.size() &&
                      strncasecmp(item.data(), protocol.data(), item.size()) == 0);
    setting.remove_prefix(std::min(setting.size(), item.size() + 1));
  }
  return named != inverted;
}

void warn_of_one(std::string_view setting, const char* protocol, const gpu::Verdict& verdict,
                 const Logger& logger) {
  if (verdict.yes || !asks_for(setting, protocol)) return;
  logger.warn("NCCL_PROTO=%.*s lets NCCL use %s, which can give WRONG RESULTS here: %s (%s)",
              static_cast<int>(setting.size()), setting.data(), protocol, verdict.reason.c_str(),
              verdict.remedy.c_str());
}

void warn_of(std::string_view setting, const gpu::ProtocolDecision& decision,
             const Logger& logger) {
  warn_of_one(setting, "LL", decision.ll, logger);
  warn_of_one(setting, "LL128", decision.ll128, logger);
}

}  // namespace

void check_protocols(const gpu::ProtocolDecision& decision, const ProcessEnvironment& environment,
                     const Logger& logger) {
  const char* own = environment.get(kProtocolVariable);
  if (own != nullptr) warn_of(own, decision, logger);
}

void advise_protocols(const gpu::ProtocolDecision& decision, bool allowed,
                      const ProcessEnvironment& environment, const Logger& logger) {
  const char* own = environment.get(kProtocolVariable);
  const std::string_view proto = decision.nccl_proto();
  const gpu::Verdict& limit = decision.ll.yes ? decision.ll128 : decision.ll;
  if (own == nullptr && allowed && !proto.empty()) {
    environment.set(kProtocolVariable, proto.data());
    logger.info("NCCL_PROTO=%s set: %s", proto.data(), limit.reason.c_str());
    return;
  }
  warn_of(own != nullptr ? own : "LL,LL128,Simple", decision, logger);  // unset means all
}

void set_recommended(const topology::InstanceType* instance, Reader reader,
                     const ProcessEnvironment& environment, const Logger& logger) {
  for (const topology::Recommendation& row : topology::recommended_environment(instance)) {
    if (reader_of(row.name) == reader) set_unless_set(row, environment, logger);
  }
}

bool uses_efa(const topology::Machine& machine, const std::vector<topology::Nic>& nics) {
  return std::ranges::any_of(nics, [&](const topology::Nic& nic) {
    const int node = nic.pci ? machine.tree.find_device(*nic.pci) : -1;
    return node >= 0 && topology::efa_generation(machine.tree.at(node)) > 0;
  });
}

std::optional<topology::TopologyFile> give_topology(const TopologyRequest& request,
                                                    const ProcessEnvironment& environment,
                                                    const Logger& logger) {
  const char* own = environment.get(kTopologyVariable);
  const bool inherited = own != nullptr && topology::is_inherited_topology_path(own);
  if (own != nullptr && !inherited) {
    check_file(kTopologyVariable, own, request, logger);
    return std::nullopt;
  }
  if (request.allowed && inherited) environment.set(kTopologyVariable, nullptr);
  if (std::error_code error; std::filesystem::exists(request.site_file, error)) {
    check_file("this site", request.site_file, request, logger);
    return std::nullopt;
  }
  const topology::NcclXml xml = xml_for(request);
  if (xml.text.empty()) {
    logger.info("NCCL gets no topology file: %s", xml.reason.c_str());
    return std::nullopt;
  }
  if (!request.allowed) {
    logger.info("FABRAIL_TUNE_NCCL=0 keeps NCCL from a topology file, though %s",
                xml.reason.c_str());
    return std::nullopt;
  }
  return hand_over(xml, environment, logger);
}

}  // namespace fabrail::plugin
