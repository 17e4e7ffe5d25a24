// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// libnccl-net-reference.so: a network plugin of the least that honours NCCL's contract, over TCP on
// loopback. Tests use it to check the tools that drive plugins; it exports ABI v6 to v12.
//
// REFERENCE_FAULT in the environment makes it misbehave on purpose:
//   no_device   reports 0 devices
//   stuck       connect() never gets ready
//   kill        the process kills itself at its 100th isend
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "include/nccl_net_abi.h"
#include "tests/cli/reference_comm.h"
#include "tests/cli/reference_counters.h"

namespace fabrail::reference {
namespace {

using Result = nccl_net_result_t;

constexpr int kSendsBeforeDeath = 100;
constexpr int kSpeedMbps = 10000;
constexpr int kMaxComms = 4096;
constexpr size_t kMaxMessageBytes = size_t{1} << 30;
char g_device_name[] = "reference0";

nccl_net_log_fn g_log = nullptr;
Attempts g_attempts;

bool fault_is(std::string_view wanted) {
  const char* fault = std::getenv("REFERENCE_FAULT");
  return fault != nullptr && fault == wanted;
}

void say(nccl_net_log_level_t level, const char* text) {
  if (g_log != nullptr) {
    g_log(level, NCCL_NET_LOG_INIT | NCCL_NET_LOG_NET, __FILE__, __LINE__, "NET/Reference : %s",
          text);
  }
}

/// A registration needs no more than the knowledge that it is one.
struct Registration {
  int type;
};

Result start(nccl_net_log_fn log) {
  g_log = log;
  open_counters(std::getenv("FABRAIL_COUNTERS"));
  say(NCCL_NET_LOG_INFO, "Selected provider is loopback (found 1 nics)");
  say(NCCL_NET_LOG_INFO, "device 0 has 1 rails");
  return NCCL_NET_SUCCESS;
}

Result init_v6(nccl_net_log_fn log) { return start(log); }
Result init_v10(nccl_net_log_fn log, nccl_net_profiler_fn) { return start(log); }
Result init_v11(void** ctx, uint64_t, nccl_net_comm_config_t*, nccl_net_log_fn log,
                nccl_net_profiler_fn) {
  *ctx = std::make_unique<int>(0).release();
  return start(log);
}
Result finalize(void* ctx) {
  const std::unique_ptr<int> owner(static_cast<int*>(ctx));
  return NCCL_NET_SUCCESS;
}

Result devices(int* count) {
  *count = fault_is("no_device") ? 0 : 1;
  return NCCL_NET_SUCCESS;
}

/// Every field that the version has; NCCL hands in an uninitialised struct.
template <class Properties>
Result get_properties(int device, Properties* properties) {
  if (device != 0) return NCCL_NET_INVALID_ARGUMENT;
  std::memset(properties, 0, sizeof *properties);
  properties->name = g_device_name;
  properties->guid = 1;
  properties->ptr_support = NCCL_NET_PTR_HOST;
  properties->speed = kSpeedMbps;
  properties->port = 1;
  properties->max_comms = kMaxComms;
  properties->max_recvs = 1;
  if constexpr (requires { properties->vprops; }) {
    properties->vprops.ndevs = 1;
    properties->max_p2p_bytes = kMaxMessageBytes;
    properties->max_coll_bytes = kMaxMessageBytes;
  }
  if constexpr (requires { properties->max_multi_request_size; }) {
    properties->max_multi_request_size = 1;
  }
  if constexpr (requires { properties->rail_id; }) {
    properties->rail_id = -1;
    properties->plane_id = -1;
  }
  return NCCL_NET_SUCCESS;
}

Result listen(int device, void* handle, void** listen_comm) {
  if (device != 0) return NCCL_NET_INVALID_ARGUMENT;
  ListenHandle content{};
  std::unique_ptr<Listener> listener = Listener::open(content);
  if (listener == nullptr) return NCCL_NET_SYSTEM_ERROR;
  std::memset(handle, 0, NCCL_NET_HANDLE_BYTES);
  std::memcpy(handle, &content, sizeof content);
  *listen_comm = listener.release();
  return NCCL_NET_SUCCESS;
}
Result listen_v11(void*, int device, void* handle, void** listen_comm) {
  return listen(device, handle, listen_comm);
}

Result connect(int device, void* handle, void** send_comm) {
  *send_comm = nullptr;
  if (device != 0) return NCCL_NET_INVALID_ARGUMENT;
  if (fault_is("stuck")) return NCCL_NET_SUCCESS;
  ListenHandle content{};
  std::memcpy(&content, handle, sizeof content);
  std::unique_ptr<Comm> comm;
  const Result result = g_attempts.step(content, comm);
  std::memcpy(handle, &content, sizeof content);
  if (result != NCCL_NET_SUCCESS) say(NCCL_NET_LOG_WARN, "connect failed: nobody listens there");
  *send_comm = comm.release();
  return result;
}
Result connect_v7(int device, void* handle, void** send_comm, nccl_net_device_handle_t**) {
  return connect(device, handle, send_comm);
}
Result connect_v10(int device, nccl_net_comm_config_t*, void* handle, void** send_comm,
                   nccl_net_device_handle_t**) {
  return connect(device, handle, send_comm);
}
Result connect_v11(void*, int device, void* handle, void** send_comm, nccl_net_device_handle_t**) {
  return connect(device, handle, send_comm);
}

Result accept(void* listen_comm, void** recv_comm) {
  std::unique_ptr<Comm> comm;
  const Result result = static_cast<Listener*>(listen_comm)->accept(comm);
  *recv_comm = comm.release();
  return result;
}
Result accept_v7(void* listen_comm, void** recv_comm, nccl_net_device_handle_t**) {
  return accept(listen_comm, recv_comm);
}

template <class Size>
Result reg_mr(void*, void*, Size, int type, void** mhandle) {
  *mhandle = nullptr;
  if (type != NCCL_NET_PTR_HOST) return NCCL_NET_INVALID_ARGUMENT;
  *mhandle = std::make_unique<Registration>(Registration{type}).release();
  return NCCL_NET_SUCCESS;
}
Result dereg_mr(void*, void* mhandle) {
  const std::unique_ptr<Registration> owner(static_cast<Registration*>(mhandle));
  return NCCL_NET_SUCCESS;
}

void die_if_asked() {
  static int sends = 0;
  if (fault_is("kill") && ++sends == kSendsBeforeDeath) raise(SIGKILL);
}

template <class Size>
Result isend(void* send_comm, void* data, Size size, int, void*, void** request) {
  die_if_asked();
  return static_cast<Comm*>(send_comm)->post(data, static_cast<uint64_t>(size), request);
}
Result isend_v10(void* send_comm, void* data, size_t size, int tag, void* mhandle, void*,
                 void** request) {
  return isend<size_t>(send_comm, data, size, tag, mhandle, request);
}

template <class Size>
Result irecv(void* recv_comm, int n, void** data, Size* sizes, int*, void**, void** request) {
  *request = nullptr;
  if (n != 1) return NCCL_NET_INVALID_ARGUMENT;
  return static_cast<Comm*>(recv_comm)->post(data[0], static_cast<uint64_t>(sizes[0]), request);
}
Result irecv_v10(void* recv_comm, int n, void** data, size_t* sizes, int* tags, void** mhandles,
                 void**, void** request) {
  return irecv<size_t>(recv_comm, n, data, sizes, tags, mhandles, request);
}

Result iflush(void*, int n, void**, int*, void**, void** request) {
  *request = nullptr;  // host memory needs none
  return n == 1 ? NCCL_NET_SUCCESS : NCCL_NET_INVALID_ARGUMENT;
}

Result test(void* request, int* done, int* sizes) {
  auto* const own = static_cast<Request*>(request);
  return own->comm->test(own, done, sizes);
}

template <class T>
Result close(void* comm) {
  const std::unique_ptr<T> owner(static_cast<T*>(comm));
  return NCCL_NET_SUCCESS;
}

constexpr const char* kName = "Reference";

}  // namespace
}  // namespace fabrail::reference

#define REFERENCE_EXPORT extern "C" __attribute__((visibility("default")))

namespace reference = fabrail::reference;

// Slots in memory order, so that the calls that differ between versions stand out.
REFERENCE_EXPORT const nccl_net_v6_t ncclNetPlugin_v6 = {reference::kName,
                                                         reference::init_v6,
                                                         reference::devices,
                                                         reference::get_properties,
                                                         reference::listen,
                                                         reference::connect,
                                                         reference::accept,
                                                         reference::reg_mr<int>,
                                                         nullptr,
                                                         reference::dereg_mr,
                                                         reference::isend<int>,
                                                         reference::irecv<int>,
                                                         reference::iflush,
                                                         reference::test,
                                                         reference::close<reference::Comm>,
                                                         reference::close<reference::Comm>,
                                                         reference::close<reference::Listener>};
REFERENCE_EXPORT const nccl_net_v7_t ncclNetPlugin_v7 = {reference::kName,
                                                         reference::init_v6,
                                                         reference::devices,
                                                         reference::get_properties,
                                                         reference::listen,
                                                         reference::connect_v7,
                                                         reference::accept_v7,
                                                         reference::reg_mr<int>,
                                                         nullptr,
                                                         reference::dereg_mr,
                                                         reference::isend<int>,
                                                         reference::irecv<int>,
                                                         reference::iflush,
                                                         reference::test,
                                                         reference::close<reference::Comm>,
                                                         reference::close<reference::Comm>,
                                                         reference::close<reference::Listener>,
                                                         nullptr,
                                                         nullptr};
REFERENCE_EXPORT const nccl_net_v8_t ncclNetPlugin_v8 = {reference::kName,
                                                         reference::init_v6,
                                                         reference::devices,
                                                         reference::get_properties,
                                                         reference::listen,
                                                         reference::connect_v7,
                                                         reference::accept_v7,
                                                         reference::reg_mr<size_t>,
                                                         nullptr,
                                                         reference::dereg_mr,
                                                         reference::isend<int>,
                                                         reference::irecv<int>,
                                                         reference::iflush,
                                                         reference::test,
                                                         reference::close<reference::Comm>,
                                                         reference::close<reference::Comm>,
                                                         reference::close<reference::Listener>,
                                                         nullptr,
                                                         nullptr};
REFERENCE_EXPORT const nccl_net_v9_t ncclNetPlugin_v9 = {reference::kName,
                                                         reference::init_v6,
                                                         reference::devices,
                                                         reference::get_properties,
                                                         reference::listen,
                                                         reference::connect_v7,
                                                         reference::accept_v7,
                                                         reference::reg_mr<size_t>,
                                                         nullptr,
                                                         reference::dereg_mr,
                                                         reference::isend<size_t>,
                                                         reference::irecv<size_t>,
                                                         reference::iflush,
                                                         reference::test,
                                                         reference::close<reference::Comm>,
                                                         reference::close<reference::Comm>,
                                                         reference::close<reference::Listener>,
                                                         nullptr,
                                                         nullptr,
                                                         nullptr};
REFERENCE_EXPORT const nccl_net_v10_t ncclNetPlugin_v10 = {reference::kName,
                                                           reference::init_v10,
                                                           reference::devices,
                                                           reference::get_properties,
                                                           reference::listen,
                                                           reference::connect_v10,
                                                           reference::accept_v7,
                                                           reference::reg_mr<size_t>,
                                                           nullptr,
                                                           reference::dereg_mr,
                                                           reference::isend_v10,
                                                           reference::irecv_v10,
                                                           reference::iflush,
                                                           reference::test,
                                                           reference::close<reference::Comm>,
                                                           reference::close<reference::Comm>,
                                                           reference::close<reference::Listener>,
                                                           nullptr,
                                                           nullptr,
                                                           nullptr};
REFERENCE_EXPORT const nccl_net_v11_t ncclNetPlugin_v11 = {reference::kName,
                                                           reference::init_v11,
                                                           reference::devices,
                                                           reference::get_properties,
                                                           reference::listen_v11,
                                                           reference::connect_v11,
                                                           reference::accept_v7,
                                                           reference::reg_mr<size_t>,
                                                           nullptr,
                                                           reference::dereg_mr,
                                                           reference::isend_v10,
                                                           reference::irecv_v10,
                                                           reference::iflush,
                                                           reference::test,
                                                           reference::close<reference::Comm>,
                                                           reference::close<reference::Comm>,
                                                           reference::close<reference::Listener>,
                                                           nullptr,
                                                           nullptr,
                                                           nullptr,
                                                           reference::finalize,
                                                           nullptr};
REFERENCE_EXPORT const nccl_net_v12_t ncclNetPlugin_v12 = {reference::kName,
                                                           reference::init_v11,
                                                           reference::devices,
                                                           reference::get_properties,
                                                           reference::listen_v11,
                                                           reference::connect_v11,
                                                           reference::accept_v7,
                                                           reference::reg_mr<size_t>,
                                                           nullptr,
                                                           reference::dereg_mr,
                                                           reference::isend_v10,
                                                           reference::irecv_v10,
                                                           reference::iflush,
                                                           reference::test,
                                                           reference::close<reference::Comm>,
                                                           reference::close<reference::Comm>,
                                                           reference::close<reference::Listener>,
                                                           nullptr,
                                                           nullptr,
                                                           nullptr,
                                                           reference::finalize,
                                                           nullptr};
