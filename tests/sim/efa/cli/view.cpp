// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Finds the nodes and NICs in a network's directory.
#include "tests/sim/efa/cli/view.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace fabrail::sim {

std::unique_ptr<NetworkView> NetworkView::open(const std::string& directory, std::string& error) {
  auto description = load_description(directory, error);
  if (!description) return nullptr;
  auto fabric = Fabric::open(directory, *description, error);
  if (!fabric) return nullptr;
  return std::unique_ptr<NetworkView>(new NetworkView(std::move(fabric)));
}

std::vector<uint16_t> NetworkView::nodes() const {
  std::vector<uint16_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory(), ignored)) {
    const std::string name = entry.path().filename();
    uint16_t number = 0;
    if (name.rfind("node-", 0) == 0 &&
        std::from_chars(name.data() + 5, name.data() + name.size(), number).ec == std::errc{})
      found.push_back(number);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Nic> NetworkView::select(const Selection& selection) {
  std::vector<Nic> chosen;
  const auto nics = description().nics();
  for (const uint16_t node : nodes())
    for (uint16_t i = 0; i < nics.size(); ++i) {
      if (selection.node && *selection.node != node) continue;
      const bool named = selection.nic.empty() || selection.nic == std::to_string(i) ||
                         selection.nic == device_name(nics[i].address);
      DeviceState* state = named ? fabric_->device({node, i}) : nullptr;
      if (state != nullptr) chosen.push_back({{node, i}, state});
    }
  return chosen;
}

std::string NetworkView::name(const Nic& nic) const {
  return device_name(description().nics()[nic.address.device].address);
}

void NetworkView::announce() {
  if (auto table = SharedFile<ProcessTable>::open(directory() + "/processes")) ring_all(*table);
}

}  // namespace fabrail::sim
