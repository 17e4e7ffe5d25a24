// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Opens and creates the files of an emulated network.
#include "tests/sim/efa/core/fabric.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "tests/sim/efa/core/sysfs_tree.h"

namespace fabrail::sim {
namespace {

/// Like mkdir -p, for our own user only.
bool make_directory(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0700);
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

/// The first process that gets here decides what the network looks like.
bool keep_description(const std::string& directory, const Description& description) {
  const std::string path = directory + "/description";
  if (access(path.c_str(), R_OK) == 0) return true;
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  if (!write_text(temporary, format_description(description))) return false;
  const bool done = link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST;
  unlink(temporary.c_str());
  return done;
}

void fill_device(DeviceState& state, const Description& description) {
  Shape& shape = state.shape;
  shape.rate_bytes_per_s = description.shape.rate_bytes_per_s;
  shape.latency_ns = description.shape.latency_ns;
  shape.jitter_ns = description.shape.jitter_ns;
  shape.shuffle_window = description.shape.shuffle_window;
  shape.seed = description.shape.seed;
  shape.max_qps = std::min(description.max_qps, kMaxQps - 1);
  shape.max_regions = std::min(description.max_regions, kMaxRegions - 1);
  shape.max_ahs = description.max_ahs;
  shape.unresponsive_ms = description.unresponsive_ms;
  // A ring takes two of the longest messages at least, whatever its offset.
  shape.ring_bytes = std::bit_ceil(std::max(description.ring_bytes, 4 * kMtuBytes));
}

}  // namespace

std::optional<Description> load_description(const std::string& directory, std::string& error) {
  const std::string path = directory + "/description";
  const std::string text = read_text(path);
  if (text.empty()) {
    error = fmt::format("{}: no description", path);
    return std::nullopt;
  }
  auto description = parse_description(text, error);
  if (!description) error = fmt::format("{}: {}", path, error);
  return description;
}

std::unique_ptr<Fabric> Fabric::open(const std::string& directory, const Description& description,
                                     std::string& error) {
  if (!make_directory(directory) || !keep_description(directory, description)) {
    error = fmt::format("{}: {}", directory, std::strerror(errno));
    return nullptr;
  }
  auto kept = load_description(directory, error);
  if (!kept) return nullptr;
  return std::unique_ptr<Fabric>(new Fabric(directory, std::move(*kept)));
}

bool Fabric::join() {
  if (!membership_) membership_ = Membership::join(directory_);
  return membership_ != nullptr;
}

bool Fabric::prepare_node(uint16_t node) const {
  if (!make_directory(node_path(node))) return false;
  const size_t count = description_.nics().size();
  for (size_t i = 0; i < count; ++i) {
    const auto state = SharedFile<DeviceState>::open_or_create(
        device_path({node, static_cast<uint16_t>(i)}),
        [this](DeviceState& fresh) { fill_device(fresh, description_); });
    if (!state) return false;
  }
  return write_sysfs(node_path(node) + "/sys", node, description_);
}

DeviceState* Fabric::device(Address address) {
  const std::lock_guard lock(mutex_);
  const auto known = devices_.find(address.packed());
  if (known != devices_.end()) return known->second.get();
  auto state = SharedFile<DeviceState>::open(device_path(address));
  if (!state) return nullptr;
  return devices_.emplace(address.packed(), std::move(state)).first->second.get();
}

std::string Fabric::node_path(uint16_t node) const {
  return fmt::format("{}/node-{}", directory_, node);
}

std::string Fabric::device_path(Address address) const {
  return fmt::format("{}/device-{}", node_path(address.node), address.device);
}

std::string Fabric::qp_path(Address address, uint32_t qpn) const {
  return fmt::format("{}/qp-{}-{}", node_path(address.node), address.device, qpn);
}

std::string Fabric::ring_path(Address address, uint32_t qpn, uint32_t ring) const {
  return fmt::format("{}.r{}", qp_path(address, qpn), ring);
}

}  // namespace fabrail::sim
