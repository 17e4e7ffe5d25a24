// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors

// What an emulated node looks like: NIC generation, PCI layout, limits; as text and as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabrail::sim {

struct PciAddress {
  uint16_t domain = 0;
  uint8_t bus = 0;
  uint8_t slot = 0;
  uint8_t function = 0;

  bool operator==(const PciAddress&) const = default;
};

/// `0000:4f:00.0`; the domain may be left out.
std::optional<PciAddress> parse_pci_address(std::string_view text);
std::string pci_text(const PciAddress& address);

enum class FunctionKind { kNic, kGpu };

/// A PCI function that software looks for.
struct PciFunction {
  FunctionKind kind;
  PciAddress address;
  uint16_t vendor;
  uint16_t device;
};

/// What hangs under one host bridge.
struct PciGroup {
  uint8_t root_bus = 0;
  int numa_node = -1;
  bool has_switch = false;
  std::vector<PciFunction> functions;
};

/// What a NIC of one generation can do. The numbers are those that real devices report.
struct Profile {
  uint16_t part_id = 0xefa1;
  bool rdma_read = true;
  bool rdma_write = true;
  bool unsolicited_write = true;
  uint32_t rate_gbps = 100;
  uint32_t send_queue_entries = 4096;
  uint32_t receive_queue_entries = 32768;
  uint32_t max_rdma_bytes = 1u << 30;
  bool writes_whole_128 = false;  // aligned 128 bytes of a write arrive whole
};

/// `efa0` .. `efa3`; nullopt for another name.
std::optional<Profile> find_profile(std::string_view generation);

/// How the network behaves from the start; everything here can be changed at run time.
struct InitialShape {
  uint64_t rate_bytes_per_s = 0;  // 0: as fast as memory allows
  uint64_t latency_ns = 0;
  uint64_t jitter_ns = 0;
  uint32_t shuffle_window = 0;
  uint32_t seed = 1;
};

struct Description {
  std::string instance;
  Profile profile;
  InitialShape shape;
  uint32_t max_qps = 1023;
  uint32_t max_regions = 65535;
  uint32_t max_ahs = 65534;
  uint32_t unresponsive_ms = 2000;
  uint32_t ring_bytes = 128 << 10;
  std::vector<PciGroup> groups;

  /// The NICs in the order of their PCI addresses, as software numbers them.
  std::vector<PciFunction> nics() const;
  /// Leaves the first `count` NICs.
  void keep_nics(size_t count);
};

/// Reads the text form (docs/emulated-efa.md). On failure nullopt, and `error` says which line and
/// why.
std::optional<Description> parse_description(std::string_view text, std::string& error);

/// The inverse of parse_description.
std::string format_description(const Description& description);

/// `rdmap79s0`, as persistent naming calls the device at this address.
std::string device_name(const PciAddress& address);

}  // namespace fabrail::sim
