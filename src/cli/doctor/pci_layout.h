// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which PCI functions share a root and what their bridges do, read from /sys paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/cli/doctor/hardware.h"

namespace fabrail::doctor {

/// The part of a /sys path that names the root bus: "pci0000:44"; "" if there is none.
std::string pci_root_of(std::string_view sysfs_path);

/// Addresses of the GPUs under whose PCI root there is no EFA NIC.
std::vector<std::string> gpus_far_from_nics(const Hardware& hardware);

/// Whether the ACS control register of a PCI Express function redirects peer traffic.
/// `config` is its configuration space, possibly cut short.
bool has_acs_on(std::string_view config);

/// Addresses of the bridges above GPUs whose ACS is on.
std::vector<std::string> bridges_with_acs(const System& system, const Hardware& hardware);

}  // namespace fabrail::doctor
