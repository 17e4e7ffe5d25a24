// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One thin adapter per ABI version, from one template: the differences between the versions are the
// `if constexpr` lines below and nothing else.
#include "tests/conformance/net.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

#include "tests/conformance/log_lines.h"

namespace fabrail::conformance {
namespace {

template <int kAbi>
struct Types;
template <>
struct Types<6> {
  using Table = nccl_net_v6_t;
  using Native = nccl_net_properties_v6_t;
};
template <>
struct Types<7> {
  using Table = nccl_net_v7_t;
  using Native = nccl_net_properties_v7_t;
};
template <>
struct Types<8> {
  using Table = nccl_net_v8_t;
  using Native = nccl_net_properties_v8_t;
};
template <>
struct Types<9> {
  using Table = nccl_net_v9_t;
  using Native = nccl_net_properties_v9_t;
  using VDevice = nccl_net_vdevice_properties_v9_t;
};
template <>
struct Types<10> {
  using Table = nccl_net_v10_t;
  using Native = nccl_net_properties_v10_t;
  using VDevice = nccl_net_vdevice_properties_v9_t;
};
template <>
struct Types<11> {
  using Table = nccl_net_v11_t;
  using Native = nccl_net_properties_v11_t;
  using VDevice = nccl_net_vdevice_properties_v9_t;
};
template <>
struct Types<12> {
  using Table = nccl_net_v12_t;
  using Native = nccl_net_properties_v12_t;
  using VDevice = nccl_net_vdevice_properties_v12_t;
};

Result ignore_profiler(void**, int, void*, int64_t, void*) { return NCCL_NET_SUCCESS; }

template <int kAbi>
struct Adapter {
  using Table = typename Types<kAbi>::Table;
  using Native = typename Types<kAbi>::Native;

  static const Table& table(const Session& s) { return *static_cast<const Table*>(s.table); }
  static const Table& of(const void* p) { return *static_cast<const Table*>(p); }

  static Result init(Session& s, nccl_net_log_fn log) {
    if constexpr (kAbi >= 11) {
      nccl_net_comm_config_t config{s.traffic_class};
      s.context = nullptr;
      return table(s).init(&s.context, s.comm_id, &config, log, &ignore_profiler);
    } else if constexpr (kAbi == 10) {
      return table(s).init(log, &ignore_profiler);
    } else {
      return table(s).init(log);
    }
  }

  static Result finalize(Session& s, void* context) {
    if constexpr (kAbi >= 11) {
      return table(s).finalize(context);
    } else {
      return NCCL_NET_SUCCESS;
    }
  }

  static Result devices(const Session& s, int* count) { return table(s).devices(count); }

  static Result get_properties(const Session& s, int dev, unsigned char fill, Properties* out) {
    Native native;
    std::memset(&native, fill, sizeof native);
    const Result result = table(s).get_properties(dev, &native);
    if (result == NCCL_NET_SUCCESS) *out = unify(native);
    return result;
  }

  static Properties unify(const Native& native) {
    Properties p;
    p.name = native.name;
    p.pci_path = native.pci_path;
    p.guid = native.guid;
    p.ptr_support = native.ptr_support;
    p.speed = native.speed;
    p.port = native.port;
    p.latency = native.latency;
    p.max_comms = native.max_comms;
    p.max_recvs = native.max_recvs;
    if constexpr (kAbi >= 7) p.net_device_type = native.net_device_type;
    if constexpr (kAbi >= 7) p.net_device_version = native.net_device_version;
    if constexpr (kAbi >= 8) p.reg_is_global = native.reg_is_global;
    if constexpr (kAbi >= 9) unify_v9(native, p);
    if constexpr (kAbi >= 11) p.max_multi_request_size = native.max_multi_request_size;
    if constexpr (kAbi >= 12) p.rail_id = native.rail_id;
    if constexpr (kAbi >= 12) p.plane_id = native.plane_id;
    return p;
  }

  static void unify_v9(const Native& native, Properties& p) {
    const auto& v = native.vprops;
    const int room = static_cast<int>(sizeof v.devs / sizeof v.devs[0]);
    p.force_flush = native.force_flush;
    p.vdevice_count = v.ndevs;
    p.vdevices.assign(v.devs, v.devs + std::clamp(v.ndevs, 0, room));
    p.max_p2p_bytes = native.max_p2p_bytes;
    p.max_coll_bytes = native.max_coll_bytes;
  }

  static Result listen(const Session& s, int dev, void* handle, void** comm) {
    if constexpr (kAbi >= 11) {
      return table(s).listen(s.context, dev, handle, comm);
    } else {
      return table(s).listen(dev, handle, comm);
    }
  }

  static Result connect(const Session& s, int dev, void* handle, void** comm) {
    if constexpr (kAbi >= 11) {
      return table(s).connect(s.context, dev, handle, comm, s.device_comm_argument);
    } else if constexpr (kAbi == 10) {
      nccl_net_comm_config_t config{s.traffic_class};
      auto* const argument = s.connect_without_config ? nullptr : &config;
      return table(s).connect(dev, argument, handle, comm, s.device_comm_argument);
    } else if constexpr (kAbi >= 7) {
      return table(s).connect(dev, handle, comm, s.device_comm_argument);
    } else {
      return table(s).connect(dev, handle, comm);
    }
  }

  static Result accept(const Session& s, void* listen_comm, void** comm) {
    if constexpr (kAbi >= 7) {
      return table(s).accept(listen_comm, comm, s.device_comm_argument);
    } else {
      return table(s).accept(listen_comm, comm);
    }
  }

  // NCCL's own adapters refuse what does not fit the older types, without calling the plugin.
  static Result reg_mr(const Session& s, void* comm, void* data, size_t size, int type,
                       void** mhandle) {
    if constexpr (kAbi >= 8) {
      return table(s).reg_mr(comm, data, size, type, mhandle);
    } else {
      if (size > INT_MAX) return NCCL_NET_INTERNAL_ERROR;
      return table(s).reg_mr(comm, data, static_cast<int>(size), type, mhandle);
    }
  }

  static Result reg_mr_dmabuf(const Session& s, void* comm, void* data, size_t size, int type,
                              uint64_t offset, int fd, void** mhandle) {
    return table(s).reg_mr_dmabuf(comm, data, size, type, offset, fd, mhandle);
  }

  static Result dereg_mr(const Session& s, void* comm, void* mhandle) {
    return table(s).dereg_mr(comm, mhandle);
  }

  static Result isend(const Session& s, void* comm, void* data, size_t size, int tag, void* mhandle,
                      void** request) {
    if constexpr (kAbi >= 10) {
      return table(s).isend(comm, data, size, tag, mhandle, nullptr, request);
    } else if constexpr (kAbi == 9) {
      return table(s).isend(comm, data, size, tag, mhandle, request);
    } else {
      return table(s).isend(comm, data, static_cast<int>(size), tag, mhandle, request);
    }
  }

  static Result irecv(const Session& s, void* comm, const ReceiveArguments& a, void** request) {
    if constexpr (kAbi >= 10) {
      std::array<void*, kMaxGroup> no_events{};
      return table(s).irecv(comm, a.n, a.data, a.sizes, a.tags, a.mhandles, no_events.data(),
                            request);
    } else if constexpr (kAbi == 9) {
      return table(s).irecv(comm, a.n, a.data, a.sizes, a.tags, a.mhandles, request);
    } else {
      std::array<int, kMaxGroup> sizes{};
      for (int i = 0; i < a.n; ++i) sizes[static_cast<size_t>(i)] = static_cast<int>(a.sizes[i]);
      return table(s).irecv(comm, a.n, a.data, sizes.data(), a.tags, a.mhandles, request);
    }
  }

  static Result iflush(const Session& s, void* comm, int n, void** data, int* sizes,
                       void** mhandles, void** request) {
    return table(s).iflush(comm, n, data, sizes, mhandles, request);
  }
  static Result test(const Session& s, void* request, int* done, int* sizes) {
    return table(s).test(request, done, sizes);
  }
  static Result close_send(const Session& s, void* comm) { return table(s).close_send(comm); }
  static Result close_recv(const Session& s, void* comm) { return table(s).close_recv(comm); }
  static Result close_listen(const Session& s, void* comm) { return table(s).close_listen(comm); }

  static Result make_vdevice(const Session& s, int* dev, const std::vector<int>& members,
                             int claimed) {
    if constexpr (kAbi >= 9) {
      typename Types<kAbi>::VDevice v{};
      const size_t room = sizeof v.devs / sizeof v.devs[0];
      std::copy_n(members.begin(), std::min(members.size(), room), v.devs);
      v.ndevs = claimed;
      return table(s).make_vdevice(dev, &v);
    } else {
      return NCCL_NET_INVALID_USAGE;
    }
  }

  static const char* name(const void* t) { return of(t).name; }
  static bool has_dmabuf(const void* t) { return of(t).reg_mr_dmabuf != nullptr; }
  static bool has_get_device_mr(const void* t) {
    if constexpr (kAbi >= 7) return of(t).get_device_mr != nullptr;
    return false;
  }
  static bool has_irecv_consumed(const void* t) {
    if constexpr (kAbi >= 7) return of(t).irecv_consumed != nullptr;
    return false;
  }
  static bool has_make_vdevice(const void* t) {
    if constexpr (kAbi >= 9) return of(t).make_vdevice != nullptr;
    return false;
  }
  static bool has_finalize(const void* t) {
    if constexpr (kAbi >= 11) return of(t).finalize != nullptr;
    return false;
  }

  static constexpr Calls calls() {
    return {&init,
            &finalize,
            &devices,
            &get_properties,
            &listen,
            &connect,
            &accept,
            &reg_mr,
            &reg_mr_dmabuf,
            &dereg_mr,
            &isend,
            &irecv,
            &iflush,
            &test,
            &close_send,
            &close_recv,
            &close_listen,
            &make_vdevice,
            &name,
            &has_dmabuf,
            &has_get_device_mr,
            &has_irecv_consumed,
            &has_make_vdevice,
            &has_finalize};
  }
};

constexpr std::array<Calls, kNewestAbi - kOldestAbi + 1> kCalls = {
    Adapter<6>::calls(),  Adapter<7>::calls(),  Adapter<8>::calls(), Adapter<9>::calls(),
    Adapter<10>::calls(), Adapter<11>::calls(), Adapter<12>::calls()};

}  // namespace

Library::Library(const std::string& path) : native_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (native_ == nullptr) error_ = dlerror();
}

const void* Library::table(int abi) const {
  return native_ == nullptr ? nullptr
                            : dlsym(native_, ("ncclNetPlugin_v" + std::to_string(abi)).c_str());
}

std::vector<int> Library::abis() const {
  std::vector<int> found;
  for (int abi = kOldestAbi; abi <= kNewestAbi; ++abi) {
    if (table(abi) != nullptr) found.push_back(abi);
  }
  return found;
}

const Calls& calls_of(int abi) { return kCalls.at(static_cast<size_t>(abi - kOldestAbi)); }

Net::Net(const Library& library, int abi) : abi_(abi), calls_(&calls_of(abi)) {
  session_.table = library.table(abi);
}

Result Net::init() { return calls_->init(session_, &log_line); }

}  // namespace fabrail::conformance
