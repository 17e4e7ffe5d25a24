// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// What firmware and settings say: DMI strings, instance names and PCI addresses.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "topology/instance_types.h"
#include "topology/pci_address.h"

namespace {

void check_name(const std::string& name) {
  if (name.size() > 64) __builtin_trap();
  for (const char c : name) {
    if (c < ' ' || c > '~') __builtin_trap();
  }
  fabrail::topology::find_instance_type(name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string product(text.substr(0, text.find('\0')));
  check_name(fabrail::topology::detect_instance({product, "Amazon EC2"}, "").name);
  check_name(fabrail::topology::detect_instance({"", product}, "").name);
  check_name(fabrail::topology::detect_instance({"", ""}, text).name);
  if (const auto address = fabrail::topology::parse_pci_address(text)) {
    if (fabrail::topology::parse_pci_address(to_text(*address)) != address) __builtin_trap();
  }
  return 0;
}
