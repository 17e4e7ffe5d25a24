// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Asks twice, over two different fillings: a byte that equals the filling both times was not
// written.
#include "tests/nccl/probe/properties.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/nccl/probe/net_table.h"

namespace fabrail::nccl_test {
namespace {

/// Visits the fields that this ABI's properties have, in memory order.
template <class P, class Visit>
void for_each_field(P& p, Visit visit) {
  visit("name", p.name);
  visit("pciPath", p.pci_path);
  visit("guid", p.guid);
  visit("ptrSupport", p.ptr_support);
  if constexpr (requires { p.reg_is_global; }) visit("regIsGlobal", p.reg_is_global);
  if constexpr (requires { p.force_flush; }) visit("forceFlush", p.force_flush);
  visit("speed", p.speed);
  visit("port", p.port);
  visit("latency", p.latency);
  visit("maxComms", p.max_comms);
  visit("maxRecvs", p.max_recvs);
  if constexpr (requires { p.net_device_type; }) visit("netDeviceType", p.net_device_type);
  if constexpr (requires { p.net_device_version; }) visit("netDeviceVersion", p.net_device_version);
  if constexpr (requires { p.vprops; }) {
    visit("vProps.ndevs", p.vprops.ndevs);
    visit("vProps.devs[0]", p.vprops.devs[0]);
    visit("vProps.devs", p.vprops.devs);
  }
  if constexpr (requires { p.max_p2p_bytes; }) visit("maxP2pBytes", p.max_p2p_bytes);
  if constexpr (requires { p.max_coll_bytes; }) visit("maxCollBytes", p.max_coll_bytes);
  if constexpr (requires { p.max_multi_request_size; }) {
    visit("maxMultiRequestSize", p.max_multi_request_size);
  }
  if constexpr (requires { p.rail_id; }) visit("railId", p.rail_id);
  if constexpr (requires { p.plane_id; }) visit("planeId", p.plane_id);
}

template <class Net>
auto ask(const Net& net, unsigned char filling) {
  typename NetCalls<Net>::Properties properties;
  std::memset(static_cast<void*>(&properties), filling, sizeof properties);
  check(net.get_properties(0, &properties), "getProperties");
  return properties;
}

template <class P>
nlohmann::json unwritten_fields(const P& first, unsigned char first_filling, const P& second,
                                unsigned char second_filling) {
  const auto* a = reinterpret_cast<const unsigned char*>(&first);
  const auto* b = reinterpret_cast<const unsigned char*>(&second);
  auto names = nlohmann::json::array();
  for_each_field(first, [&](const char* name, const auto& field) {
    const auto begin = static_cast<size_t>(reinterpret_cast<const unsigned char*>(&field) - a);
    for (size_t i = begin; i < begin + sizeof field; ++i) {
      if (a[i] != first_filling || b[i] != second_filling) continue;
      names.push_back(name);
      return;
    }
  });
  return names;
}

nlohmann::json as_json(char* text) { return text == nullptr ? nlohmann::json() : text; }
template <class T>
nlohmann::json as_json(const T& value) {
  return value;
}

}  // namespace

nlohmann::json describe_device(int abi, const void* table) {
  return with_table(abi, table, [](const auto& net) {
    const auto first = ask(net, 0xEE);
    const auto second = ask(net, 0x11);
    nlohmann::json fields;
    for_each_field(first, [&](const char* name, const auto& field) {
      if constexpr (!std::is_array_v<std::remove_reference_t<decltype(field)>>) {
        fields[name] = as_json(field);
      }
    });
    return nlohmann::json{{"properties", fields},
                          {"unwritten", unwritten_fields(first, 0xEE, second, 0x11)}};
  });
}

int count_devices(int abi, const void* table) {
  return with_table(abi, table, [](const auto& net) {
    int count = -1;
    check(net.devices(&count), "devices");
    return count;
  });
}

}  // namespace fabrail::nccl_test
