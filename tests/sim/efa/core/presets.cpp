// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors

// PCI layouts of instance types: only facts that a guest of that type shows.
#include "tests/sim/efa/core/presets.h"

namespace fabrail::sim {
namespace {

/// Functions at consecutive buses, slot 0, under the switch of one host bridge.
struct SwitchRow {
  uint8_t root;
  uint8_t first_nic;
  uint8_t nics;
  uint8_t first_gpu;
  uint8_t gpus;
};

struct Preset {
  std::string_view name;
  std::string_view instance;
  std::string_view generation;
  uint16_t gpu;
  bool rdma_read;
  std::vector<PciGroup> (*groups)(uint16_t nic, uint16_t gpu);
};

PciFunction nic_at(uint8_t bus, uint8_t slot, uint16_t part) {
  return {FunctionKind::kNic, {0, bus, slot, 0}, 0x1d0f, part};
}

PciFunction gpu_at(uint8_t bus, uint8_t slot, uint16_t part) {
  return {FunctionKind::kGpu, {0, bus, slot, 0}, 0x10de, part};
}

uint8_t plus(uint8_t base, size_t offset) { return static_cast<uint8_t>(base + offset); }

std::vector<PciGroup> switches(const std::vector<SwitchRow>& rows, uint16_t nic, uint16_t gpu) {
  std::vector<PciGroup> groups;
  for (size_t i = 0; i < rows.size(); ++i) {
    const SwitchRow& row = rows[i];
    PciGroup group{row.root, i < rows.size() / 2 ? 0 : 1, true, {}};
    for (uint8_t k = 0; k < row.nics; ++k)
      group.functions.push_back(nic_at(plus(row.first_nic, k), 0, nic));
    for (uint8_t k = 0; k < row.gpus; ++k)
      group.functions.push_back(gpu_at(plus(row.first_gpu, k), 0, gpu));
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<PciGroup> p5_groups(uint16_t nic, uint16_t gpu) {
  std::vector<SwitchRow> rows;
  for (size_t i = 0; i < 8; ++i) {
    const auto step = static_cast<uint8_t>(0x11 * i);
    rows.push_back({plus(0x44, step), plus(0x4f, step), 4, plus(0x53, step), 1});
  }
  return switches(rows, nic, gpu);
}

std::vector<PciGroup> p5en_groups(uint16_t nic, uint16_t gpu) {
  std::vector<SwitchRow> rows;
  for (size_t i = 0; i < 4; ++i) {
    const auto step = static_cast<uint8_t>(0x19 * i);
    rows.push_back({plus(0x44, step), plus(0x55, step), 4, plus(0x59, step), 2});
  }
  return switches(rows, nic, gpu);
}

std::vector<PciGroup> p6_b200_groups(uint16_t nic, uint16_t gpu) {
  return switches({{0x44, 0x4f, 2, 0x51, 2},
                   {0x55, 0x60, 2, 0x62, 2},
                   {0x66, 0x71, 2, 0x75, 2},
                   {0x79, 0x84, 2, 0x86, 2}},
                  nic, gpu);
}

/// p4d shows no switch: NIC and GPUs are functions of one root bus.
std::vector<PciGroup> p4d_groups(uint16_t nic, uint16_t gpu) {
  std::vector<PciGroup> groups;
  for (const uint8_t bus : std::initializer_list<uint8_t>{0x10, 0x20, 0x90, 0xa0})
    groups.push_back({bus,
                      bus < 0x80 ? 0 : 1,
                      false,
                      {nic_at(bus, 0x1b, nic), gpu_at(bus, 0x1c, gpu), gpu_at(bus, 0x1d, gpu)}});
  return groups;
}

/// One flat root bus without NUMA: p3dn, g5.
std::vector<PciGroup> flat_groups(uint16_t nic, uint16_t gpu) {
  PciGroup group{0x00, -1, false, {nic_at(0x00, 0x15, nic)}};
  for (uint8_t slot = 0x16; slot < 0x1e; ++slot) group.functions.push_back(gpu_at(0x00, slot, gpu));
  return {group};
}

/// g6e: NICs behind switches of their own, GPUs behind root ports of their own (bus numbers
/// inferred).
std::vector<PciGroup> g6e_groups(uint16_t nic, uint16_t gpu) {
  std::vector<PciGroup> groups;
  for (int numa = 0; numa < 2; ++numa) {
    const auto base = static_cast<uint8_t>(numa == 0 ? 0x84 : 0xb8);
    groups.push_back({base, numa, true, {}});
    for (uint8_t k = 0; k < 2; ++k)
      groups.back().functions.push_back(nic_at(plus(base, 8u + k), 0, nic));
    for (uint8_t k = 0; k < 4; ++k)
      groups.push_back(
          {plus(base, 0x10u + 4u * k), numa, true, {gpu_at(plus(base, 0x13u + 4u * k), 0, gpu)}});
  }
  return groups;
}

std::vector<PciGroup> single_groups(uint16_t nic, uint16_t gpu) {
  return switches({{0x44, 0x4f, 1, 0x53, 1}}, nic, gpu);
}

constexpr Preset kPresets[] = {
    {"p3dn", "p3dn.24xlarge", "efa0", 0x1db5, false, flat_groups},
    {"p4d", "p4d.24xlarge", "efa0", 0x20b0, true, p4d_groups},
    {"p4de", "p4de.24xlarge", "efa0", 0x20b2, true, p4d_groups},
    {"p5", "p5.48xlarge", "efa1", 0x2330, true, p5_groups},
    {"p5-4xl", "p5.4xlarge", "efa1", 0x2330, true, single_groups},
    {"p5e", "p5e.48xlarge", "efa1", 0x2335, true, p5_groups},
    {"p5en", "p5en.48xlarge", "efa2", 0x2335, true, p5en_groups},
    {"p6-b200", "p6-b200.48xlarge", "efa3", 0x2901, true, p6_b200_groups},
    {"g5", "g5.48xlarge", "efa0", 0x2237, false, flat_groups},
    {"g6e", "g6e.48xlarge", "efa1", 0x26b9, true, g6e_groups},
};

Description describe(const Preset& preset) {
  Description description;
  description.instance = preset.instance;
  description.profile = *find_profile(preset.generation);
  description.profile.rdma_read = preset.rdma_read;
  description.groups = preset.groups(description.profile.part_id, preset.gpu);
  return description;
}

}  // namespace

std::optional<Description> find_preset(std::string_view name) {
  for (const Preset& preset : kPresets)
    if (name == preset.name || name == preset.instance) return describe(preset);
  return std::nullopt;
}

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  for (const Preset& preset : kPresets) names.push_back(preset.name);
  return names;
}

}  // namespace fabrail::sim
