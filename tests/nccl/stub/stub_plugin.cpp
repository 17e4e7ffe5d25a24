// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// libnccl-net-stub.so: the smallest network plugin that NCCL accepts, in all ABI versions. It is
// the control of the loader tests: what fails with it is the harness's or NCCL's doing.
//
// Messages only reach the same process, on one thread. In the environment, STUB_DEVICES says how
// many devices it reports, STUB_INIT_RESULT what init() returns, and STUB_KEEP_CONTEXT=1 that
// init() hands out a context without devices too.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "include/nccl_net_abi.h"

namespace {

constexpr auto kOk = NCCL_NET_SUCCESS;
constexpr int kMaxRecvs = 1;

char device_name[] = "stub0";
nccl_net_log_fn log_line = nullptr;

struct Request {
  void* data;
  size_t bytes;
  bool done;
};

/// One direction: sends and receives that wait for each other, oldest first.
struct Channel {
  std::deque<Request*> sends;
  std::deque<Request*> recvs;

  void match() {
    while (!sends.empty() && !recvs.empty()) {
      Request& send = *sends.front();
      Request& recv = *recvs.front();
      std::memcpy(recv.data, send.data, send.bytes);
      recv.bytes = send.bytes;
      send.done = recv.done = true;
      sends.pop_front();
      recvs.pop_front();
    }
  }
};

struct Comm {
  std::shared_ptr<Channel> channel;
};

struct Listener {
  std::shared_ptr<Channel> pending;
};

int number_from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

int device_count() { return number_from_environment("STUB_DEVICES", 1); }

nccl_net_result_t start(int abi, nccl_net_log_fn log) {
  log_line = log;
  log(NCCL_NET_LOG_INFO, NCCL_NET_LOG_INIT | NCCL_NET_LOG_NET, "stub", abi, "stub: init v%d", abi);
  return static_cast<nccl_net_result_t>(number_from_environment("STUB_INIT_RESULT", 0));
}

template <int kAbi>
nccl_net_result_t init(nccl_net_log_fn log) {
  return start(kAbi, log);
}

nccl_net_result_t init_v10(nccl_net_log_fn log, nccl_net_profiler_fn) { return start(10, log); }

void* new_context(uint64_t comm_id) {
  auto* context = static_cast<uint64_t*>(std::malloc(sizeof comm_id));
  *context = comm_id;
  return context;
}

template <int kAbi>
nccl_net_result_t init_context(void** context, uint64_t comm_id, nccl_net_comm_config_t*,
                               nccl_net_log_fn log, nccl_net_profiler_fn) {
  // NCCL 2.28.7 to 2.29.3 hand a context without devices to their own networks, which free() it.
  const bool keep = number_from_environment("STUB_KEEP_CONTEXT", 0) != 0;
  *context = device_count() > 0 || keep ? new_context(comm_id) : nullptr;
  return start(kAbi, log);
}

nccl_net_result_t finalize(void* context) {
  const auto* comm_id = static_cast<uint64_t*>(context);
  if (comm_id == nullptr) return kOk;
  log_line(NCCL_NET_LOG_INFO, NCCL_NET_LOG_INIT | NCCL_NET_LOG_NET, "stub", 0,
           "stub: finalize %llx", static_cast<unsigned long long>(*comm_id));
  std::free(context);
  return kOk;
}

nccl_net_result_t devices(int* count) {
  *count = device_count();
  return kOk;
}

template <class P>
nccl_net_result_t get_properties(int dev, P* p) {
  if (dev != 0) return NCCL_NET_INVALID_ARGUMENT;
  P properties{};
  properties.name = device_name;
  properties.guid = 0x57ab;
  properties.ptr_support = NCCL_NET_PTR_HOST;
  properties.speed = 10000;
  properties.port = 1;
  properties.latency = 2.0F;
  properties.max_comms = 1024;
  properties.max_recvs = kMaxRecvs;
  if constexpr (requires { p->vprops; }) properties.vprops.ndevs = 1;
  if constexpr (requires { p->max_p2p_bytes; }) properties.max_p2p_bytes = size_t{1} << 30;
  if constexpr (requires { p->max_coll_bytes; }) properties.max_coll_bytes = size_t{1} << 29;
  if constexpr (requires { p->max_multi_request_size; }) properties.max_multi_request_size = 1;
  if constexpr (requires { p->rail_id; }) properties.rail_id = properties.plane_id = -1;
  *p = properties;
  return kOk;
}

nccl_net_result_t listen(int, void* handle, void** listen_comm) {
  auto* listener = new Listener;
  std::memset(handle, 0, NCCL_NET_HANDLE_BYTES);
  std::memcpy(handle, &listener, sizeof listener);  // the peer is this process
  *listen_comm = listener;
  return kOk;
}

nccl_net_result_t listen_context(void*, int dev, void* handle, void** listen_comm) {
  return listen(dev, handle, listen_comm);
}

nccl_net_result_t connect_v6(int, void* handle, void** send_comm) {
  Listener* listener = nullptr;
  std::memcpy(&listener, handle, sizeof listener);
  listener->pending = std::make_shared<Channel>();
  *send_comm = new Comm{listener->pending};
  return kOk;
}

nccl_net_result_t connect(int dev, void* handle, void** send_comm, nccl_net_device_handle_t**) {
  return connect_v6(dev, handle, send_comm);
}

nccl_net_result_t connect_v10(int dev, nccl_net_comm_config_t*, void* handle, void** send_comm,
                              nccl_net_device_handle_t**) {
  return connect_v6(dev, handle, send_comm);
}

nccl_net_result_t connect_context(void*, int dev, void* handle, void** send_comm,
                                  nccl_net_device_handle_t**) {
  return connect_v6(dev, handle, send_comm);
}

nccl_net_result_t accept_v6(void* listen_comm, void** recv_comm) {
  auto& pending = static_cast<Listener*>(listen_comm)->pending;
  *recv_comm = pending == nullptr ? nullptr : new Comm{std::move(pending)};
  return kOk;
}

nccl_net_result_t accept(void* listen_comm, void** recv_comm, nccl_net_device_handle_t**) {
  return accept_v6(listen_comm, recv_comm);
}

template <class Size>
nccl_net_result_t reg_mr(void* comm, void*, Size, int, void** mhandle) {
  *mhandle = comm;  // nothing to register, but never NULL
  return kOk;
}

nccl_net_result_t dereg_mr(void*, void*) { return kOk; }

template <class Size>
nccl_net_result_t isend(void* comm, void* data, Size bytes, int, void*, void** request) {
  auto* send = new Request{data, static_cast<size_t>(bytes), false};
  Channel& channel = *static_cast<Comm*>(comm)->channel;
  channel.sends.push_back(send);
  channel.match();
  *request = send;
  return kOk;
}

nccl_net_result_t isend_profiled(void* comm, void* data, size_t bytes, int tag, void* mhandle,
                                 void*, void** request) {
  return isend<size_t>(comm, data, bytes, tag, mhandle, request);
}

template <class Size>
nccl_net_result_t irecv(void* comm, int n, void** data, Size* sizes, int*, void**, void** request) {
  if (n != 1) return NCCL_NET_INVALID_ARGUMENT;
  auto* recv = new Request{data[0], static_cast<size_t>(sizes[0]), false};
  Channel& channel = *static_cast<Comm*>(comm)->channel;
  channel.recvs.push_back(recv);
  channel.match();
  *request = recv;
  return kOk;
}

nccl_net_result_t irecv_profiled(void* comm, int n, void** data, size_t* sizes, int* tags,
                                 void** mhandles, void**, void** request) {
  return irecv<size_t>(comm, n, data, sizes, tags, mhandles, request);
}

nccl_net_result_t iflush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return kOk;
}

nccl_net_result_t test(void* request, int* done, int* sizes) {
  auto* tested = static_cast<Request*>(request);
  *done = tested->done ? 1 : 0;
  if (!tested->done) return kOk;
  if (sizes != nullptr) *sizes = static_cast<int>(tested->bytes);
  delete tested;
  return kOk;
}

nccl_net_result_t close_comm(void* comm) {
  delete static_cast<Comm*>(comm);
  return kOk;
}

nccl_net_result_t close_listen(void* comm) {
  delete static_cast<Listener*>(comm);
  return kOk;
}

/// The slots that are the same in every version; `Size` is that of regMr, isend and irecv.
template <class Net, class RegSize, class Size>
constexpr Net common_slots() {
  Net net{};
  net.name = "STUB";
  net.devices = devices;
  net.get_properties = get_properties;
  net.reg_mr = reg_mr<RegSize>;
  net.dereg_mr = dereg_mr;
  net.iflush = iflush;
  net.test = test;
  net.close_send = close_comm;
  net.close_recv = close_comm;
  net.close_listen = close_listen;
  if constexpr (requires { net.irecv = irecv<Size>; }) {
    net.isend = isend<Size>;
    net.irecv = irecv<Size>;
  } else {
    net.isend = isend_profiled;
    net.irecv = irecv_profiled;
  }
  return net;
}

constexpr nccl_net_v6_t table_v6() {
  auto net = common_slots<nccl_net_v6_t, int, int>();
  net.init = init<6>;
  net.listen = listen;
  net.connect = connect_v6;
  net.accept = accept_v6;
  return net;
}

template <class Net, int kAbi, class RegSize, class Size>
constexpr Net table_v7_to_v9() {
  auto net = common_slots<Net, RegSize, Size>();
  net.init = init<kAbi>;
  net.listen = listen;
  net.connect = connect;
  net.accept = accept;
  return net;
}

constexpr nccl_net_v10_t table_v10() {
  auto net = common_slots<nccl_net_v10_t, size_t, size_t>();
  net.init = init_v10;
  net.listen = listen;
  net.connect = connect_v10;
  net.accept = accept;
  return net;
}

template <class Net, int kAbi>
constexpr Net table_v11_and_newer() {
  auto net = common_slots<Net, size_t, size_t>();
  net.init = init_context<kAbi>;
  net.listen = listen_context;
  net.connect = connect_context;
  net.accept = accept;
  net.finalize = finalize;
  return net;
}

}  // namespace

#define STUB_EXPORT __attribute__((visibility("default"))) constinit

extern "C" {
STUB_EXPORT nccl_net_v6_t ncclNetPlugin_v6 = table_v6();
STUB_EXPORT nccl_net_v7_t ncclNetPlugin_v7 = table_v7_to_v9<nccl_net_v7_t, 7, int, int>();
STUB_EXPORT nccl_net_v8_t ncclNetPlugin_v8 = table_v7_to_v9<nccl_net_v8_t, 8, size_t, int>();
STUB_EXPORT nccl_net_v9_t ncclNetPlugin_v9 = table_v7_to_v9<nccl_net_v9_t, 9, size_t, size_t>();
STUB_EXPORT nccl_net_v10_t ncclNetPlugin_v10 = table_v10();
STUB_EXPORT nccl_net_v11_t ncclNetPlugin_v11 = table_v11_and_newer<nccl_net_v11_t, 11>();
STUB_EXPORT nccl_net_v12_t ncclNetPlugin_v12 = table_v11_and_newer<nccl_net_v12_t, 12>();
}
