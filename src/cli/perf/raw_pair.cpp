// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The raw link between the two ends of a point-to-point test.
#include "src/cli/perf/raw_pair.h"

#include <sstream>

#include "src/cli/common/failure.h"
#include "src/cli/perf/plugin_log.h"

namespace fabrail::cli::perf {

std::vector<std::string> raw_providers(const Environment& environment,
                                       const std::optional<std::string>& said_by_plugin) {
  std::vector<std::string> providers;
  if (const char* forced = environment("FABRAIL_PROVIDER"); forced != nullptr && *forced != 0) {
    std::istringstream list(forced);
    for (std::string name; std::getline(list, name, ',');) {
      // The plugin may have chosen among several variants of what was named.
      if (said_by_plugin && said_by_plugin->starts_with(name)) providers.push_back(*said_by_plugin);
      providers.push_back(name);
    }
    return providers;
  }
  if (said_by_plugin) providers.push_back(*said_by_plugin);
  // libfabric itself applies FI_PROVIDER to an empty name.
  const char* filter = environment("FI_PROVIDER");
  if (filter != nullptr && *filter != 0) return providers.push_back(""), providers;
  for (const char* name : {"efa", "verbs;ofi_rxm", "tcp"}) providers.emplace_back(name);
  return providers;
}

RawPair::RawPair(Session& session, std::optional<int> peer, size_t capacity) {
  RawAddress mine;
  if (peer) {
    open(session, capacity);
    mine = link_->address();
  }
  const std::vector<RawAddress> all = session.rendezvous.all_gather_of(mine);
  if (peer) link_->connect(all[static_cast<size_t>(*peer)]);
}

void RawPair::open(const Session& session, size_t capacity) {
  library_ = std::make_unique<RawLibrary>();
  std::string tried;
  for (const std::string& provider : raw_providers(session.environment, network_facts().provider)) {
    info_ = library_->find(provider, session.options.raw_domain);
    if (info_ != nullptr) break;
    tried += tried.empty() ? provider : ", " + provider;
  }
  if (info_ == nullptr) {
    throw Failure("--raw: libfabric has no provider with reliable datagrams and RMA among: " +
                  tried + "; fi_info -t FI_EP_RDM -c FI_RMA lists what there is");
  }
  provider_ = info_->fabric_attr->prov_name;
  link_.emplace(*library_, *info_, capacity);
}

}  // namespace fabrail::cli::perf
