// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The function tables that NCCL looks up, one for each ABI version: thin adapters over net_api. v8
// is the reference; the others differ in argument lists and in the width of sizes.
#include <array>
#include <cstring>
#include <type_traits>

#include "plugin/instance.h"
#include "plugin/net_api.h"

namespace {

using fabrail::plugin::DevicePlan;
namespace api = fabrail::plugin::api;

// -------------------------------------------------------------------------------------------
// properties

// NCCL hands over uninitialised memory: everything is written, field by field.
template <typename Properties>
void fill(Properties& properties, const DevicePlan& plan) {
  std::memset(&properties, 0, sizeof properties);
  // NCCL's structs are not const-correct; it only reads.
  properties.name = const_cast<char*>(plan.name.c_str());
  properties.pci_path = plan.pci_path.empty() ? nullptr : const_cast<char*>(plan.pci_path.c_str());
  properties.guid = plan.guid;
  properties.ptr_support = plan.ptr_support;
  if constexpr (requires { properties.force_flush; }) properties.force_flush = plan.force_flush;
  properties.speed = plan.speed_mbps;
  properties.port = plan.port;
  properties.latency = plan.latency_us;
  properties.max_comms = 1 << fabrail::transport::kCommIndexBits;
  properties.max_recvs = fabrail::transport::kMaxGroup;
}

void fill_rail(auto& properties, const DevicePlan& plan) {
  properties.rail_id = plan.rail_id;
  properties.plane_id = plan.plane_id;
}

void fill_physical(auto& properties, int dev) {
  properties.vprops.ndevs = 1;
  properties.vprops.devs[0] = dev;
  properties.max_p2p_bytes = api::kMaxMessageBytes;
  properties.max_coll_bytes = api::kMaxMessageBytes;
}

template <typename Properties>
nccl_net_result_t get_properties(int dev, Properties* properties) {
  const auto [plan, result] = api::properties(dev);
  if (plan == nullptr) return result;
  fill(*properties, *plan);
  if constexpr (requires { properties->vprops; }) fill_physical(*properties, dev);
  if constexpr (requires { properties->max_multi_request_size; })
    properties->max_multi_request_size = 1;
  if constexpr (requires { properties->rail_id; }) fill_rail(*properties, *plan);
  return NCCL_NET_SUCCESS;
}

// ------------------------------------------------------------------------- differences between
// versions

template <int kAbi>
nccl_net_result_t init_v6(nccl_net_log_fn log) {
  return api::init(log, kAbi);
}
nccl_net_result_t init_v10(nccl_net_log_fn log, nccl_net_profiler_fn) { return api::init(log, 10); }

// Contexts carry nothing: every communicator of a process uses the same devices. NCCL wants a
// pointer back; but when a plugin without devices is turned down, NCCL 2.28.7 to 2.29.3 hand its
// pointer to their own InfiniBand transport, which frees it.
template <int kAbi>
nccl_net_result_t init_v11(void** ctx, std::uint64_t, nccl_net_comm_config_t*, nccl_net_log_fn log,
                           nccl_net_profiler_fn) {
  const nccl_net_result_t result = api::init(log, kAbi);
  int devices = 0;
  if (result == NCCL_NET_SUCCESS) api::devices(&devices);
  if (ctx != nullptr) *ctx = devices > 0 ? &fabrail::plugin::instance() : nullptr;
  return result;
}
nccl_net_result_t finalize_v11(void*) { return NCCL_NET_SUCCESS; }

nccl_net_result_t listen_v11(void*, int dev, void* handle, void** listen_comm) {
  return api::listen(dev, handle, listen_comm);
}

// Device handles are for networks that unpack on the GPU: left untouched.
nccl_net_result_t connect_v7(int dev, void* handle, void** send_comm, nccl_net_device_handle_t**) {
  return api::connect(dev, handle, send_comm);
}
nccl_net_result_t connect_v10(int dev, nccl_net_comm_config_t*, void* handle, void** send_comm,
                              nccl_net_device_handle_t**) {
  return api::connect(dev, handle, send_comm);
}
nccl_net_result_t connect_v11(void*, int dev, void* handle, void** send_comm,
                              nccl_net_device_handle_t**) {
  return api::connect(dev, handle, send_comm);
}
nccl_net_result_t accept_v7(void* listen_comm, void** recv_comm, nccl_net_device_handle_t**) {
  return api::accept(listen_comm, recv_comm);
}

nccl_net_result_t reg_mr_v6(void* comm, void* data, int size, int type, void** mhandle) {
  return api::reg_mr(comm, data, static_cast<std::size_t>(size), type,
                     mhandle);  // a negative size is refused
}

// A negative size becomes one that isend refuses.
nccl_net_result_t isend_v6(void* send_comm, void* data, int size, int tag, void* mhandle,
                           void** request) {
  return api::isend(send_comm, data, static_cast<std::size_t>(size), tag, mhandle, request);
}
nccl_net_result_t isend_v10(void* send_comm, void* data, std::size_t size, int tag, void* mhandle,
                            void*, void** request) {
  return api::isend(send_comm, data, size, tag, mhandle, request);
}

nccl_net_result_t irecv_v6(void* recv_comm, int n, void** data, int* sizes, int* tags,
                           void** mhandles, void** request) {
  std::array<std::size_t, fabrail::transport::kMaxGroup> wide{};
  for (int i = 0; i < n && static_cast<std::size_t>(i) < wide.size(); ++i) {
    wide[static_cast<std::size_t>(i)] = sizes[i] < 0 ? 0 : static_cast<std::size_t>(sizes[i]);
  }
  return api::irecv(recv_comm, n, data, wide.data(), tags, mhandles, request);
}
nccl_net_result_t irecv_v9(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags,
                           void** mhandles, void** request) {
  return api::irecv(recv_comm, n, data, sizes, tags, mhandles, request);
}
nccl_net_result_t irecv_v10(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags,
                            void** mhandles, void**, void** request) {
  return api::irecv(recv_comm, n, data, sizes, tags, mhandles, request);
}

// -------------------------------------------------------------------------------------------- the
// tables

// What is the same in every version. Slots that stay null mean "not supported": device-side
// handles, virtual devices, network attributes.
template <typename Table>
constexpr Table common_table() {
  Table table{};
  table.name = "fabrail";
  table.devices = api::devices;
  table.get_properties = get_properties;
  table.reg_mr_dmabuf = api::reg_mr_dmabuf;
  table.dereg_mr = api::dereg_mr;
  table.iflush = api::iflush;
  table.test = api::test;
  table.close_send = api::close_send;
  table.close_recv = api::close_recv;
  table.close_listen = api::close_listen;
  return table;
}

constexpr nccl_net_v6_t make_v6() {
  auto table = common_table<nccl_net_v6_t>();
  table.init = init_v6<6>;
  table.listen = api::listen;
  table.connect = api::connect;
  table.accept = api::accept;
  table.reg_mr = reg_mr_v6;
  table.isend = isend_v6;
  table.irecv = irecv_v6;
  return table;
}

// v7 and v8 have the same calls but for the width of regMr's size.
template <typename Table>
constexpr Table make_v7_or_v8() {
  auto table = common_table<Table>();
  constexpr int kAbi = std::is_same_v<Table, nccl_net_v7_t> ? 7 : 8;
  table.init = init_v6<kAbi>;
  table.listen = api::listen;
  table.connect = connect_v7;
  table.accept = accept_v7;
  if constexpr (std::is_same_v<Table, nccl_net_v7_t>) {
    table.reg_mr = reg_mr_v6;
  } else {
    table.reg_mr = api::reg_mr;
  }
  table.isend = isend_v6;
  table.irecv = irecv_v6;
  return table;
}

constexpr nccl_net_v9_t make_v9() {
  auto table = common_table<nccl_net_v9_t>();
  table.init = init_v6<9>;
  table.listen = api::listen;
  table.connect = connect_v7;
  table.accept = accept_v7;
  table.reg_mr = api::reg_mr;
  table.isend = api::isend;
  table.irecv = irecv_v9;
  return table;
}

constexpr nccl_net_v10_t make_v10() {
  auto table = common_table<nccl_net_v10_t>();
  table.init = init_v10;
  table.listen = api::listen;
  table.connect = connect_v10;
  table.accept = accept_v7;
  table.reg_mr = api::reg_mr;
  table.isend = isend_v10;
  table.irecv = irecv_v10;
  return table;
}

template <typename Table>
constexpr Table make_v11_or_v12() {
  auto table = common_table<Table>();
  constexpr int kAbi = std::is_same_v<Table, nccl_net_v11_t> ? 11 : 12;
  table.init = init_v11<kAbi>;
  table.finalize = finalize_v11;
  table.listen = listen_v11;
  table.connect = connect_v11;
  table.accept = accept_v7;
  table.reg_mr = api::reg_mr;
  table.isend = isend_v10;
  table.irecv = irecv_v10;
  return table;
}

}  // namespace

#define FR_EXPORT __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): NCCL looks these names up
extern "C" {
FR_EXPORT constinit nccl_net_v6_t ncclNetPlugin_v6 = make_v6();
FR_EXPORT constinit nccl_net_v7_t ncclNetPlugin_v7 = make_v7_or_v8<nccl_net_v7_t>();
FR_EXPORT constinit nccl_net_v8_t ncclNetPlugin_v8 = make_v7_or_v8<nccl_net_v8_t>();
FR_EXPORT constinit nccl_net_v9_t ncclNetPlugin_v9 = make_v9();
FR_EXPORT constinit nccl_net_v10_t ncclNetPlugin_v10 = make_v10();
FR_EXPORT constinit nccl_net_v11_t ncclNetPlugin_v11 = make_v11_or_v12<nccl_net_v11_t>();
FR_EXPORT constinit nccl_net_v12_t ncclNetPlugin_v12 = make_v11_or_v12<nccl_net_v12_t>();
}
// NOLINTEND(readability-identifier-naming)

namespace {

// NCCL compares the name with NCCL_NET before it calls init(): the tables must carry the right one
// from the moment that the library is loaded.
__attribute__((constructor)) void name_tables() {
  const char* name = fabrail::plugin::net_name();
  ncclNetPlugin_v6.name = name;
  ncclNetPlugin_v7.name = name;
  ncclNetPlugin_v8.name = name;
  ncclNetPlugin_v9.name = name;
  ncclNetPlugin_v10.name = name;
  ncclNetPlugin_v11.name = name;
  ncclNetPlugin_v12.name = name;
}

}  // namespace
