// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// One emulated network: its directory, this process's membership, and the state of every NIC on it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tests/sim/efa/core/address.h"
#include "tests/sim/efa/core/description.h"
#include "tests/sim/efa/core/layout.h"
#include "tests/sim/efa/core/process_table.h"

namespace fabrail::sim {

/// A NIC of the network, with its state at hand.
struct Nic {
  Address address;
  DeviceState* state = nullptr;
};

class Fabric {
 public:
  /// Opens the network in `directory`, making it from `description` if it is new (else the
  /// description in the directory counts). Null on failure; `error` says why. Joins nothing yet.
  static std::unique_ptr<Fabric> open(const std::string& directory, const Description& description,
                                      std::string& error);

  const std::string& directory() const { return directory_; }
  const Description& description() const { return description_; }
  /// Makes this process a member; false on failure, with errno set.
  bool join();
  Membership& membership() { return *membership_; }

  /// Makes the files of a node that is not there yet; false on failure, with errno set.
  bool prepare_node(uint16_t node) const;

  /// State of a NIC anywhere on the network; null if no such NIC exists.
  DeviceState* device(Address address);

  std::string node_path(uint16_t node) const;
  std::string device_path(Address address) const;
  std::string qp_path(Address address, uint32_t qpn) const;
  std::string ring_path(Address address, uint32_t qpn, uint32_t ring) const;

 private:
  Fabric(std::string directory, Description description)
      : directory_(std::move(directory)), description_(std::move(description)) {}

  std::string directory_;
  Description description_;
  std::unique_ptr<Membership> membership_;
  std::mutex mutex_;
  std::map<uint32_t, SharedFile<DeviceState>> devices_;  // guarded by mutex_
};

/// The description kept in a fabric's directory; nullopt if there is none or it cannot be read.
std::optional<Description> load_description(const std::string& directory, std::string& error);

}  // namespace fabrail::sim
