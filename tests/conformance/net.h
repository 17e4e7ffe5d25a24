// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A net plugin as the conformance suite sees it: one set of calls, whatever ABI version is behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "include/nccl_net_abi.h"

namespace fabrail::conformance {

using Result = nccl_net_result_t;

inline constexpr int kOldestAbi = 6;
inline constexpr int kNewestAbi = 12;
inline constexpr int kMaxGroup = 64;  // NCCL never passes more receives to irecv

/// A plugin file, opened the way NCCL opens it (RTLD_NOW | RTLD_LOCAL). Never closed: case 18 alone
/// unloads, with its own dlclose.
class Library {
 public:
  /// An empty `error()` means that the file is open.
  explicit Library(const std::string& path);

  void* native() const { return native_; }
  const std::string& error() const { return error_; }
  const void* table(int abi) const;
  std::vector<int> abis() const;

 private:
  void* native_ = nullptr;
  std::string error_;
};

/// The union of all properties structs; what an ABI version does not have keeps these values.
struct Properties {
  const char* name = nullptr;
  const char* pci_path = nullptr;
  uint64_t guid = 0;
  int ptr_support = 0;
  int reg_is_global = 0;
  int force_flush = 0;
  int speed = 0;
  int port = 0;
  float latency = 0;
  int max_comms = 0;
  int max_recvs = 0;
  int net_device_type = NCCL_NET_DEVICE_HOST;
  int net_device_version = 0;
  std::vector<int> vdevices;  ///< vProps.devs[0 .. ndevs)
  int vdevice_count = 0;      ///< vProps.ndevs as written
  size_t max_p2p_bytes = size_t{1} << 30;
  size_t max_coll_bytes = size_t{1} << 29;
  int max_multi_request_size = 1;
  int rail_id = -1;
  int plane_id = -1;
};

/// What an adapter needs besides the caller's arguments.
struct Session {
  const void* table = nullptr;
  void* context = nullptr;                                    ///< v11 and newer
  uint64_t comm_id = 1;                                       ///< v11 and newer
  int traffic_class = NCCL_NET_TRAFFIC_CLASS_UNDEFINED;       ///< v10 and newer
  bool connect_without_config = false;                        ///< v10 alone: pass NULL
  nccl_net_device_handle_t** device_comm_argument = nullptr;  ///< to connect and accept (v7 ..)
};

struct ReceiveArguments {
  int n = 0;
  void** data = nullptr;
  size_t* sizes = nullptr;
  int* tags = nullptr;
  void** mhandles = nullptr;
};

/// One adapter: the functions of one ABI version in the newest one's shape.
struct Calls {
  Result (*init)(Session&, nccl_net_log_fn);
  Result (*finalize)(Session&, void* context);
  Result (*devices)(const Session&, int*);
  Result (*get_properties)(const Session&, int dev, unsigned char fill, Properties*);
  Result (*listen)(const Session&, int dev, void* handle, void** comm);
  Result (*connect)(const Session&, int dev, void* handle, void** comm);
  Result (*accept)(const Session&, void* listen_comm, void** comm);
  Result (*reg_mr)(const Session&, void* comm, void* data, size_t size, int type, void** mhandle);
  Result (*reg_mr_dmabuf)(const Session&, void* comm, void* data, size_t size, int type,
                          uint64_t offset, int fd, void** mhandle);
  Result (*dereg_mr)(const Session&, void* comm, void* mhandle);
  Result (*isend)(const Session&, void* comm, void* data, size_t size, int tag, void* mhandle,
                  void** request);
  Result (*irecv)(const Session&, void* comm, const ReceiveArguments&, void** request);
  Result (*iflush)(const Session&, void* comm, int n, void** data, int* sizes, void** mhandles,
                   void** request);
  Result (*test)(const Session&, void* request, int* done, int* sizes);
  Result (*close_send)(const Session&, void* comm);
  Result (*close_recv)(const Session&, void* comm);
  Result (*close_listen)(const Session&, void* comm);
  Result (*make_vdevice)(const Session&, int* dev, const std::vector<int>& members, int claimed);
  const char* (*name)(const void* table);
  bool (*has_dmabuf)(const void* table);
  bool (*has_get_device_mr)(const void* table);
  bool (*has_irecv_consumed)(const void* table);
  bool (*has_make_vdevice)(const void* table);
  bool (*has_finalize)(const void* table);
};

/// The adapter of `abi`, which must be one of kOldestAbi .. kNewestAbi.
const Calls& calls_of(int abi);

/// A table of a plugin, ready to be called. Cheap to copy; a copy shares the v11 context.
class Net {
 public:
  Net(const Library& library, int abi);

  int abi() const { return abi_; }
  Session& session() { return session_; }
  const char* name() const { return calls_->name(session_.table); }
  bool has_context() const { return abi_ >= 11; }

  Result init();
  Result finalize() { return calls_->finalize(session_, session_.context); }
  Result finalize_context(void* context) { return calls_->finalize(session_, context); }
  Result devices(int* count) const { return calls_->devices(session_, count); }
  /// `fill` is what the struct holds before the call, as NCCL's is uninitialised.
  Result get_properties(int dev, Properties* properties, unsigned char fill = 0xEE) const {
    return calls_->get_properties(session_, dev, fill, properties);
  }
  Result listen(int dev, void* handle, void** comm) const {
    return calls_->listen(session_, dev, handle, comm);
  }
  Result connect(int dev, void* handle, void** comm) const {
    return calls_->connect(session_, dev, handle, comm);
  }
  Result accept(void* listen_comm, void** comm) const {
    return calls_->accept(session_, listen_comm, comm);
  }
  Result reg_mr(void* comm, void* data, size_t size, int type, void** mhandle) const {
    return calls_->reg_mr(session_, comm, data, size, type, mhandle);
  }
  Result reg_mr_dmabuf(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                       void** mhandle) const {
    return calls_->reg_mr_dmabuf(session_, comm, data, size, type, offset, fd, mhandle);
  }
  Result dereg_mr(void* comm, void* mhandle) const {
    return calls_->dereg_mr(session_, comm, mhandle);
  }
  Result isend(void* comm, void* data, size_t size, int tag, void* mhandle, void** request) const {
    return calls_->isend(session_, comm, data, size, tag, mhandle, request);
  }
  Result irecv(void* comm, const ReceiveArguments& arguments, void** request) const {
    return calls_->irecv(session_, comm, arguments, request);
  }
  Result iflush(void* comm, int n, void** data, int* sizes, void** mhandles, void** request) const {
    return calls_->iflush(session_, comm, n, data, sizes, mhandles, request);
  }
  Result test(void* request, int* done, int* sizes) const {
    return calls_->test(session_, request, done, sizes);
  }
  Result close_send(void* comm) const { return calls_->close_send(session_, comm); }
  Result close_recv(void* comm) const { return calls_->close_recv(session_, comm); }
  Result close_listen(void* comm) const { return calls_->close_listen(session_, comm); }
  /// `claimed` is the ndevs that the plugin is told, which a hostile caller may make up.
  Result make_vdevice(int* dev, const std::vector<int>& members, int claimed) const {
    return calls_->make_vdevice(session_, dev, members, claimed);
  }

  bool has_dmabuf() const { return calls_->has_dmabuf(session_.table); }
  bool has_get_device_mr() const { return calls_->has_get_device_mr(session_.table); }
  bool has_irecv_consumed() const { return calls_->has_irecv_consumed(session_.table); }
  bool has_make_vdevice() const { return calls_->has_make_vdevice(session_.table); }
  bool has_finalize() const { return calls_->has_finalize(session_.table); }

 private:
  int abi_;
  const Calls* calls_;
  Session session_;
};

}  // namespace fabrail::conformance
