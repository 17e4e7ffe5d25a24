// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The net ABI's versions behind one spelling: each call drops or adds the arguments that a version
// lacks or wants.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

#include "include/nccl_net_abi.h"

namespace fabrail::nccl_test {

/// Calls `visit` with the table as the type that it has in ABI `abi`.
template <class Visit>
auto with_table(int abi, const void* table, Visit visit) {
  switch (abi) {
    case 6:
      return visit(*static_cast<const nccl_net_v6_t*>(table));
    case 7:
      return visit(*static_cast<const nccl_net_v7_t*>(table));
    case 8:
      return visit(*static_cast<const nccl_net_v8_t*>(table));
    case 9:
      return visit(*static_cast<const nccl_net_v9_t*>(table));
    case 10:
      return visit(*static_cast<const nccl_net_v10_t*>(table));
    case 11:
      return visit(*static_cast<const nccl_net_v11_t*>(table));
    case 12:
      return visit(*static_cast<const nccl_net_v12_t*>(table));
    default:
      throw std::runtime_error("no net ABI " + std::to_string(abi));
  }
}

/// Errors  std::runtime_error that names the call, unless it succeeded.
inline void check(nccl_net_result_t result, const char* call) {
  if (result == NCCL_NET_SUCCESS) return;
  throw std::runtime_error(std::string(call) + " returned " + std::to_string(result));
}

template <class Net>
inline constexpr int kAbiOf = 0;
template <>
inline constexpr int kAbiOf<nccl_net_v6_t> = 6;
template <>
inline constexpr int kAbiOf<nccl_net_v7_t> = 7;
template <>
inline constexpr int kAbiOf<nccl_net_v8_t> = 8;
template <>
inline constexpr int kAbiOf<nccl_net_v9_t> = 9;
template <>
inline constexpr int kAbiOf<nccl_net_v10_t> = 10;
template <>
inline constexpr int kAbiOf<nccl_net_v11_t> = 11;
template <>
inline constexpr int kAbiOf<nccl_net_v12_t> = 12;

/// The calls of one table; `context` comes from v11's init().
template <class Net>
struct NetCalls {
  const Net& net;
  void* context;

  template <class P>
  static P properties_of(nccl_net_result_t (*)(int, P*));
  using Properties = decltype(properties_of(std::declval<Net>().get_properties));
  static constexpr int kAbi = kAbiOf<Net>;
  using RegSize = std::conditional_t<(kAbi < 8), int, size_t>;
  using Size = std::conditional_t<(kAbi < 9), int, size_t>;

  void* listen(int dev, void* handle) const {
    void* comm = nullptr;
    if constexpr (kAbi >= 11) {
      check(net.listen(context, dev, handle, &comm), "listen");
    } else {
      check(net.listen(dev, handle, &comm), "listen");
    }
    return comm;
  }

  /// nullptr: not yet.
  void* connect(int dev, void* handle) const {
    void* comm = nullptr;
    nccl_net_device_handle_t* device = nullptr;
    if constexpr (kAbi >= 11) {
      check(net.connect(context, dev, handle, &comm, &device), "connect");
    } else if constexpr (kAbi == 10) {
      nccl_net_comm_config_t config{NCCL_NET_TRAFFIC_CLASS_UNDEFINED};
      check(net.connect(dev, &config, handle, &comm, &device), "connect");
    } else if constexpr (kAbi >= 7) {
      check(net.connect(dev, handle, &comm, &device), "connect");
    } else {
      check(net.connect(dev, handle, &comm), "connect");
    }
    return comm;
  }

  /// nullptr: not yet.
  void* accept(void* listen_comm) const {
    void* comm = nullptr;
    if constexpr (kAbi >= 7) {
      nccl_net_device_handle_t* device = nullptr;
      check(net.accept(listen_comm, &comm, &device), "accept");
    } else {
      check(net.accept(listen_comm, &comm), "accept");
    }
    return comm;
  }

  void* reg_mr(void* comm, void* data, int bytes) const {
    void* region = nullptr;
    const auto size = static_cast<RegSize>(bytes);
    check(net.reg_mr(comm, data, size, NCCL_NET_PTR_HOST, &region), "regMr");
    return region;
  }

  /// nullptr: not now.
  void* isend(void* comm, void* data, int bytes, int tag, void* region) const {
    void* request = nullptr;
    const auto size = static_cast<Size>(bytes);
    if constexpr (kAbi >= 10) {
      check(net.isend(comm, data, size, tag, region, nullptr, &request), "isend");
    } else {
      check(net.isend(comm, data, size, tag, region, &request), "isend");
    }
    return request;
  }

  /// A group of one; nullptr: not now.
  void* irecv(void* comm, void* data, int bytes, int tag, void* region) const {
    void* request = nullptr;
    auto size = static_cast<Size>(bytes);
    if constexpr (kAbi >= 10) {
      void* parent = nullptr;
      check(net.irecv(comm, 1, &data, &size, &tag, &region, &parent, &request), "irecv");
    } else {
      check(net.irecv(comm, 1, &data, &size, &tag, &region, &request), "irecv");
    }
    return request;
  }
};

}  // namespace fabrail::nccl_test
