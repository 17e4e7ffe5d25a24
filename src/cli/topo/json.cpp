// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/topo/json.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace fabrail::cli::topo {

using nlohmann::ordered_json;

namespace {

const char* verdict(topology::GpuDirect gpudirect) {
  switch (gpudirect) {
    case topology::GpuDirect::kYes:
      return "yes";
    case topology::GpuDirect::kNo:
      return "no";
    case topology::GpuDirect::kUnknown:
      break;
  }
  return "unknown";
}

ordered_json gpu_json(const Scene& scene, const ShownGpu& gpu) {
  const topology::PciNode& node = scene.machine.tree.at(gpu.node);
  ordered_json json = {{"index", gpu.index},
                       {"pci", to_text(node.address)},
                       {"model", gpu.model},
                       {"numa", node.numa},
                       {"link_gbytes_per_s", node.link_gbytes_per_s},
                       {"device", nullptr}};
  if (gpu.device >= 0) {
    json["device"] = gpu.device;
    json["path"] = describe(gpu.path);
    json["gpudirect"] = gpu.gpudirect;
  }
  return json;
}

ordered_json rail_json(const Scene& scene, const topology::GroupRail& rail) {
  const topology::Nic& nic = scene.nics[rail.nic];
  const int node = nic.pci ? scene.machine.tree.find_device(*nic.pci) : -1;
  ordered_json json = {{"nic", nic.name}, {"speed_mbps", rail.speed_mbps}};
  if (nic.pci) json["pci"] = to_text(*nic.pci);
  if (node >= 0) json["link_gbytes_per_s"] = scene.machine.tree.at(node).link_gbytes_per_s;
  return json;
}

ordered_json device_json(const Scene& scene, const topology::NicGroup& group) {
  ordered_json json = {{"name", group.name},
                       {"speed_mbps", group.speed_mbps},
                       {"latency_us", group.latency_us},
                       {"guid", group.guid},
                       {"port", group.port},
                       {"pci_path", group.pci_path},
                       {"numa", group.numa},
                       {"rail_id", group.rail_id},
                       {"plane_id", group.plane_id},
                       {"gpudirect", verdict(group.gpudirect)},
                       {"rails", ordered_json::array()},
                       {"gpus", ordered_json::array()},
                       {"reasons", group.reasons}};
  for (const topology::GroupRail& rail : group.rails) {
    json["rails"].push_back(rail_json(scene, rail));
  }
  for (const topology::GroupGpu& gpu : group.gpus) json["gpus"].push_back(to_text(gpu.address));
  return json;
}

ordered_json places_json(const Scene& scene) {
  ordered_json json = ordered_json::array();
  for (const Place& place : scene.places) {
    json.push_back({{"name", place.name},
                    {"numa", place.numa},
                    {"gpus", place.gpus},
                    {"devices", place.devices}});
  }
  return json;
}

}  // namespace

void write_json(const Scene& scene, std::ostream& out) {
  ordered_json json = {
      {"instance", scene.plan.instance_name},  {"known_instance", scene.plan.instance != nullptr},
      {"gpus", ordered_json::array()},         {"devices", ordered_json::array()},
      {"left_out", ordered_json::array()},     {"places", places_json(scene)},
      {"environment", ordered_json::object()}, {"nccl_xml", scene.xml.text},
      {"nccl_xml_reason", scene.xml.reason},   {"decisions", scene.plan.decisions}};
  for (const ShownGpu& gpu : scene.gpus) json["gpus"].push_back(gpu_json(scene, gpu));
  for (const topology::NicGroup& group : scene.plan.groups) {
    json["devices"].push_back(device_json(scene, group));
  }
  for (const std::size_t nic : scene.plan.left_out) {
    json["left_out"].push_back(scene.nics[nic].name);
  }
  for (const topology::Recommendation& row : scene.environment) {
    json["environment"][std::string(row.name)] = row.value;
  }
  // Names come from firmware and drivers: bytes that are no UTF-8 are replaced, not thrown at.
  out << json.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
}

}  // namespace fabrail::cli::topo
