// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The raw link between the two ends of a point-to-point test, on the provider that the plugin uses.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/cli/perf/raw_link.h"
#include "src/cli/perf/session.h"

namespace fabrail::cli::perf {

/// Providers to try, best first: what the user forces, what the plugin said, what it would choose.
std::vector<std::string> raw_providers(const Environment& environment,
                                       const std::optional<std::string>& said_by_plugin);

class RawPair {
 public:
  /// Collective over all ranks; only an end (`peer` given) opens anything.
  RawPair(Session& session, std::optional<int> peer, size_t capacity);

  RawLink* link() { return link_ ? &*link_ : nullptr; }
  const std::string& provider() const { return provider_; }

 private:
  void open(const Session& session, size_t capacity);

  std::unique_ptr<RawLibrary> library_;
  RawLibrary::Info info_{nullptr, nullptr};
  std::optional<RawLink> link_;
  std::string provider_;
};

}  // namespace fabrail::cli::perf
