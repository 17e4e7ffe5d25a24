// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// An emulated network looked at from outside: the command turns its knobs without taking part.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/efa/core/fabric.h"

namespace fabrail::sim {

/// Which NICs a command is about; unset: all.
struct Selection {
  std::optional<uint16_t> node;
  std::string nic;  // a name (rdmap79s0) or an index
};

class NetworkView {
 public:
  /// Null on failure; `error` says why.
  static std::unique_ptr<NetworkView> open(const std::string& directory, std::string& error);

  const Description& description() const { return fabric_->description(); }
  const std::string& directory() const { return fabric_->directory(); }
  std::string node_path(uint16_t node) const { return fabric_->node_path(node); }
  std::vector<uint16_t> nodes() const;
  std::vector<Nic> select(const Selection& selection);
  std::string name(const Nic& nic) const;

  /// Tells the processes of the network that something changed.
  void announce();

 private:
  explicit NetworkView(std::unique_ptr<Fabric> fabric) : fabric_(std::move(fabric)) {}

  std::unique_ptr<Fabric> fabric_;
};

}  // namespace fabrail::sim
