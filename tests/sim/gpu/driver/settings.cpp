// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Reads EMUGPU_* once; a value that cannot be read is a mistake in a test, so the program ends.
#include "tests/sim/gpu/driver/settings.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace emugpu {
namespace {

constexpr unsigned kFirstBus = 0x1b;

[[noreturn]] void refuse(const char* name, const char* value, const char* wanted) {
  std::fprintf(stderr, "[emugpu] %s=%s: want %s\n", name, value, wanted);
  std::abort();
}

long number(const char* name, long fallback) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return fallback;
  char* end = nullptr;
  const long parsed = std::strtol(value, &end, 0);
  if (*end != '\0' || parsed < 0) refuse(name, value, "a number");
  return parsed;
}

int small_number(const char* name, int fallback) {
  return static_cast<int>(number(name, fallback));
}

bool flag(const char* name, bool fallback) { return number(name, fallback ? 1 : 0) != 0; }

std::vector<PciAddress> counted_devices(long count) {
  std::vector<PciAddress> devices;
  for (long i = 0; i < count; ++i) {
    devices.push_back({.domain = 0, .bus = kFirstBus + static_cast<unsigned>(i), .device = 0});
  }
  return devices;
}

std::vector<PciAddress> listed_devices(std::string_view list) {
  std::vector<PciAddress> devices;
  while (!list.empty()) {
    const std::string item(list.substr(0, list.find(',')));
    list.remove_prefix(item.size() < list.size() ? item.size() + 1 : item.size());
    PciAddress address;
    if (!parse_pci_address(item.c_str(), &address)) {
      refuse("EMUGPU_PCI", item.c_str(), "domain:bus:device.function, ...");
    }
    devices.push_back(address);
  }
  return devices;
}

std::vector<PciAddress> read_devices() {
  const char* list = std::getenv("EMUGPU_PCI");
  if (list != nullptr && *list != '\0') return listed_devices(list);
  return counted_devices(number("EMUGPU_COUNT", 1));
}

ComputeCapability read_compute_capability() {
  const char* value = std::getenv("EMUGPU_CC");
  ComputeCapability cc;
  if (value == nullptr) return cc;
  if (std::sscanf(value, "%d.%d", &cc.major, &cc.minor) != 2) {
    refuse("EMUGPU_CC", value, "major.minor");
  }
  return cc;
}

Settings read_settings() {
  Settings s;
  s.devices = read_devices();
  s.compute_capability = read_compute_capability();
  s.memory_bytes = static_cast<std::size_t>(number("EMUGPU_MEMORY_BYTES", 8L << 30));
  s.gpudirect = flag("EMUGPU_GPUDIRECT", true);
  s.peer_memory = flag("EMUGPU_PEER_MEMORY", s.gpudirect);
  s.dmabuf = flag("EMUGPU_DMABUF", true);
  s.flush_options = small_number("EMUGPU_FLUSH_OPTIONS", 1);
  s.writes_ordering = small_number("EMUGPU_WRITES_ORDERING", 0);
  s.visible_after_ms = small_number("EMUGPU_VISIBLE_AFTER_MS", 0);
  s.nvlinks = small_number("EMUGPU_NVLINKS", 0);
  s.seed = static_cast<std::uint64_t>(number("EMUGPU_SEED", 1));
  s.driver_version = small_number("EMUGPU_DRIVER_VERSION", 12040);
  s.log_level = small_number("EMUGPU_LOG", 1);
  return s;
}

}  // namespace

bool parse_pci_address(const char* text, PciAddress* address) {
  return std::sscanf(text, "%x:%x:%x", &address->domain, &address->bus, &address->device) == 3;
}

const Settings& settings() {
  static const Settings& read = *new Settings(read_settings());
  return read;
}

}  // namespace emugpu
