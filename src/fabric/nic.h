// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The NICs that libfabric offers, the provider that is chosen among them, and what it can do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/fabric/library.h"

namespace fabrail::fabric {

/// What a provider on a NIC can do, as it says in its fi_info (and, for `enforces_keys`, in a table
/// by name: no attribute tells it).
/// Files in /dev/shm that stay when a process ends without closing its endpoints.
enum class Segments : std::uint8_t {
  kNone,
  kOurNames,      ///< one that we name
  kAfterAddress,  ///< one that the provider names after the endpoint's address
};

struct ProviderCaps {
  std::size_t inject_bytes = 0;  ///< largest message that fi_inject takes
  std::size_t immediate_bytes =
      0;  ///< width of remote CQ data; with 4, lengths come from the completion
  std::size_t max_message_bytes = 0;     ///< largest single operation
  bool local_registration = false;       ///< FI_MR_LOCAL: every local buffer needs a descriptor
  bool virtual_addresses = false;        ///< FI_MR_VIRT_ADDR: remote addresses, not offsets
  bool provider_keys = false;            ///< FI_MR_PROV_KEY: the provider chooses keys
  bool endpoint_regions = false;         ///< FI_MR_ENDPOINT: regions are bound to an endpoint
  std::size_t max_data_write_bytes = 0;  ///< larger writes go without data, a message follows them
  bool serial_domain = false;  ///< registration, too, must not run beside other calls on the domain
  Segments segments = Segments::kNone;  ///< which files an endpoint is, or has, in /dev/shm
  bool emulates_rdma = false;           ///< may do RDMA by the other side's CPU: ask the endpoint
  bool enforces_keys = false;           ///< a closed region is out of a peer's reach at once
  bool reports_events = false;          ///< by an event queue; without one it aborts the process
  int gone_code = 0;                 ///< provider's code for a peer that is no more; 0: it has none
  bool numbers_messages = false;     ///< a peer must stay known, and no message to it may be lost
  bool resends_in_software = false;  ///< what a receiver had no room for, and only while called
  bool device_memory = false;        ///< FI_HMEM: CUDA memory can be registered as such
};

/// One NIC of the chosen provider.
struct Nic {
  InfoPtr info;
  std::string name;     ///< libfabric's domain, without the endpoint type that EFA appends
  std::string network;  ///< libfabric's fabric: NICs with the same one reach each other
  std::string provider;
  std::string pci_path;     ///< resolved /sys path, empty if it is no PCI device
  std::string pci_address;  ///< 0000:4f:00.0; known even where /sys does not show the device
  int speed_mbps = 0;       ///< 0 unknown
  ProviderCaps caps;
  bool reads_by_default = true;       ///< RDMA reads, where the provider cannot be asked
  bool device_memory_wanted = false;  ///< NicFilter::device_memory
};

/// The outcome of choosing a provider.
struct Discovery {
  std::string provider;                  ///< empty if none can be used
  std::vector<Nic> nics;                 ///< all of that provider
  std::vector<std::string> passed_over;  ///< each other provider, and why it was not taken
};

/// Which provider and NICs the user asked for.
struct NicFilter {
  std::string provider;          ///< FABRAIL_PROVIDER
  std::string fi_provider;       ///< FI_PROVIDER
  std::string nics;              ///< FABRAIL_NICS
  std::string device_rdma = {};  ///< FI_EFA_USE_DEVICE_RDMA
  /// There are GPUs: NICs are asked for FI_HMEM as well, and those without it are kept.
  bool device_memory = false;
};

/// Asks libfabric for reliable datagram endpoints with RMA and chooses among them.
///
/// Errors  kSystem if fi_getinfo fails otherwise than by finding nothing.
/// Source  fi_getinfo(3).
Result<Discovery> discover(const Library& library, const NicFilter& filter);

/// Whether `name` is selected by a FABRAIL_NICS value: comma-separated beginnings, `^` inverts.
bool nic_selected(const std::string& list, const std::string& name);

}  // namespace fabrail::fabric
