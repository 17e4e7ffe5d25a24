// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A network plugin as NCCL loads it: one interface over the ABI versions 6 to 12.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "include/nccl_net_abi.h"

namespace fabrail::cli::perf {

using Handle = std::array<std::byte, NCCL_NET_HANDLE_BYTES>;

/// What perf needs of a device's properties.
struct DeviceProperties {
  std::string name;
  size_t max_message_bytes = 0;
  bool takes_gpu_memory = false;
};

/// Every call that fails throws Failure with the call, the plugin's result and what it means.
/// Pointers are the plugin's own: comms, memory handles, requests.
class Plugin {
 public:
  /// Loads `path` and picks ABI version `abi`, or the newest that it exports when `abi` is 0.
  Plugin(const std::string& path, int abi);
  ~Plugin();  // NOLINT(bugprone-exception-escape): std::visit throws only for a variant without
              // value
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  int abi() const { return abi_; }
  const std::string& path() const { return path_; }
  const char* name() const;

  void init(nccl_net_log_fn log);
  int devices();
  DeviceProperties properties(int device);

  void* listen(int device, Handle& handle);
  void* connect(int device, Handle& handle);  ///< NULL: not yet, call again with the same handle
  void* accept(void* listen_comm);            ///< NULL: not yet, call again
  /// `type`  NCCL_NET_PTR_HOST or NCCL_NET_PTR_CUDA.
  void* reg_mr(void* comm, void* address, size_t bytes, int type = NCCL_NET_PTR_HOST);
  void dereg_mr(void* comm, void* mhandle);
  void* isend(void* comm, void* address, size_t bytes, int tag, void* mhandle);  ///< NULL: not now
  void* irecv(void* comm, void* address, size_t bytes, int tag, void* mhandle);  ///< NULL: not now
  /// NULL: what was received is visible to the GPU; else a request for flushed().
  void* iflush(void* comm, void* address, size_t bytes, void* mhandle);
  bool flushed(void* request);
  std::optional<size_t> test(void* request);  ///< bytes moved once it is done
  void close_send(void* comm);
  void close_recv(void* comm);
  void close_listen(void* comm);

 private:
  using Table = std::variant<const nccl_net_v6_t*, const nccl_net_v7_t*, const nccl_net_v8_t*,
                             const nccl_net_v9_t*, const nccl_net_v10_t*, const nccl_net_v11_t*,
                             const nccl_net_v12_t*>;
  template <class T>
  bool take(int abi, int wanted);
  void find_table(int wanted);

  std::string path_;
  std::unique_ptr<void, int (*)(void*)> library_;
  int abi_ = 0;
  Table table_;
  void* context_ = nullptr;  ///< v11 and newer
  bool initialised_ = false;
};

}  // namespace fabrail::cli::perf
