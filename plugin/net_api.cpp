// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "plugin/net_api.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <exception>
#include <span>

#include "plugin/instance.h"
#include "plugin/last_resort.h"

namespace fabrail::plugin::api {

namespace {

using transport::Comm;
using transport::Engine;
using transport::Registration;

constexpr std::size_t kLargestRegistration = std::size_t{1}
                                             << 47;  // the address space of a process

nccl_net_result_t to_nccl(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kUnsupported:
      return NCCL_NET_INVALID_ARGUMENT;
    case Code::kInvalidUsage:
      return NCCL_NET_INVALID_USAGE;
    case Code::kSystem:
      return NCCL_NET_SYSTEM_ERROR;
    case Code::kRemote:
      return NCCL_NET_REMOTE_ERROR;
    case Code::kInternal:
      break;
  }
  return NCCL_NET_INTERNAL_ERROR;
}

// Whose fault is the caller's stays the caller's.
bool is_communicators(const Error& error) {
  return error.code != Code::kInvalidArgument && error.code != Code::kUnsupported;
}

// NCCL keeps such an error until somebody asks for it, and not everybody does.
void end_if_asked(const Error& error) {
  if (!instance().aborts_on_error() || !is_communicators(error)) return;
  instance().logger().warn("FABRAIL_ABORT_ON_ERROR: ending process %d: %s", getpid(), error.detail);
  raise_abort();
}

enum class Call : std::uint8_t { kSetUp, kTraffic };

// The one place where errors are logged and exceptions end.
template <Call kCall = Call::kSetUp, typename Body>
nccl_net_result_t guard(Body&& body) noexcept {
  try {
    const Status status = body();
    if (status.ok()) return NCCL_NET_SUCCESS;
    if (!status.error().reported) instance().logger().warn("%s", status.error().detail);
    if constexpr (kCall == Call::kTraffic) end_if_asked(status.error());
    return to_nccl(status.error().code);
  } catch (const std::exception&) {
    return NCCL_NET_SYSTEM_ERROR;  // out of memory, and too little left to say so
  }
}

Error bad_argument(const char* call, const char* what) {
  return make_error(Code::kInvalidArgument, 0, "%s was called with %s", call, what);
}

std::span<std::byte, transport::kHandleBytes> handle_span(void* handle) {
  return std::span<std::byte, transport::kHandleBytes>(static_cast<std::byte*>(handle),
                                                       transport::kHandleBytes);
}

template <typename T>
T& as(void* comm) {
  return static_cast<T&>(*static_cast<Comm*>(comm));
}

}  // namespace

nccl_net_result_t init(nccl_net_log_fn log, int abi) {
  return guard([&]() -> Status {
    instance().init(log, abi);
    return {};
  });
}

nccl_net_result_t devices(int* count) {
  return guard([&]() -> Status {
    *count = instance().devices();
    return {};
  });
}

Looked properties(int dev) {
  Looked looked;
  looked.result = guard([&]() -> Status {
    FR_TRY_ASSIGN(looked.plan, instance().device(dev));
    return {};
  });
  return looked;
}

nccl_net_result_t listen(int dev, void* handle, void** listen_comm) {
  return guard([&]() -> Status {
    *listen_comm = nullptr;
    FR_TRY_ASSIGN(Engine * engine, instance().engine(dev));
    FR_TRY_ASSIGN(transport::Listener * listener, engine->listen(handle_span(handle)));
    *listen_comm = static_cast<Comm*>(listener);
    return {};
  });
}

nccl_net_result_t connect(int dev, void* handle, void** send_comm) {
  return guard([&]() -> Status {
    *send_comm = nullptr;
    FR_TRY_ASSIGN(Engine * engine, instance().engine(dev));
    FR_TRY_ASSIGN(transport::SendComm * comm, engine->connect(handle_span(handle)));
    *send_comm = static_cast<Comm*>(comm);
    return {};
  });
}

nccl_net_result_t accept(void* listen_comm, void** recv_comm) {
  return guard([&]() -> Status {
    *recv_comm = nullptr;
    if (listen_comm == nullptr) return bad_argument("accept", "no listener");
    auto& listener = as<transport::Listener>(listen_comm);
    FR_TRY_ASSIGN(transport::RecvComm * comm, listener.engine.accept(listener));
    *recv_comm = static_cast<Comm*>(comm);
    return {};
  });
}

namespace {

Status check_registration(void* comm, void* data, std::size_t size, int type) {
  if (comm == nullptr || data == nullptr)
    return bad_argument("regMr", "no communicator or no memory");
  if (size > kLargestRegistration) return bad_argument("regMr", "an impossible size");
  if (type == NCCL_NET_PTR_HOST || type == NCCL_NET_PTR_CUDA) return {};
  return make_error(Code::kUnsupported, 0,
                    "regMr of memory type %d: there are 1 (host) and 2 (CUDA)", type);
}

}  // namespace

nccl_net_result_t reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) {
  return guard([&]() -> Status {
    *mhandle = nullptr;
    FR_TRY(check_registration(comm, data, size, type));
    Comm& owner = *static_cast<Comm*>(comm);
    auto* const bytes = static_cast<std::byte*>(data);
    if (type == NCCL_NET_PTR_HOST) {
      FR_TRY_ASSIGN(*mhandle, owner.engine.register_memory(owner, bytes, size));
    } else {
      FR_TRY_ASSIGN(*mhandle, owner.engine.register_device_memory(owner, bytes, size, {}));
    }
    return {};
  });
}

nccl_net_result_t reg_mr_dmabuf(void* comm, void* data, std::size_t size, int type,
                                std::uint64_t offset, int fd, void** mhandle) {
  return guard([&]() -> Status {
    *mhandle = nullptr;
    FR_TRY(check_registration(comm, data, size, type));
    if (type != NCCL_NET_PTR_CUDA) return bad_argument("regMrDmaBuf", "memory that is not CUDA's");
    if (fd < 0) return bad_argument("regMrDmaBuf", "no file descriptor");
    Comm& owner = *static_cast<Comm*>(comm);
    FR_TRY_ASSIGN(*mhandle,
                  owner.engine.register_device_memory(owner, static_cast<std::byte*>(data), size,
                                                      fabric::DmabufRange{fd, offset}));
    return {};
  });
}

nccl_net_result_t dereg_mr(void* comm, void* mhandle) {
  return guard([&]() -> Status {
    // NCCL does this when an earlier regMr failed.
    if (comm == nullptr || mhandle == nullptr) return {};
    auto& registration = *static_cast<Registration*>(mhandle);
    registration.comm->engine.deregister_memory(registration);
    return {};
  });
}

nccl_net_result_t isend(void* send_comm, void* data, std::size_t size, int tag, void* mhandle,
                        void** request) {
  return guard<Call::kTraffic>([&]() -> Status {
    *request = nullptr;
    if (send_comm == nullptr) return bad_argument("isend", "no communicator");
    if (size != 0 && (data == nullptr || mhandle == nullptr))
      return bad_argument("isend", "no registered memory");
    auto& comm = as<transport::SendComm>(send_comm);
    FR_TRY_ASSIGN(*request, comm.engine.send(comm, static_cast<const std::byte*>(data), size, tag,
                                             static_cast<Registration*>(mhandle)));
    return {};
  });
}

nccl_net_result_t irecv(void* recv_comm, int n, void** data, const std::size_t* sizes,
                        const int* tags, void** mhandles, void** request) {
  return guard<Call::kTraffic>([&]() -> Status {
    *request = nullptr;
    if (recv_comm == nullptr) return bad_argument("irecv", "no communicator");
    if (n < 1 || n > static_cast<int>(transport::kMaxGroup)) {
      return make_error(Code::kInvalidArgument, 0,
                        "irecv of %d receives: 1 to %u can be posted at once (maxRecvs)", n,
                        transport::kMaxGroup);
    }
    std::array<transport::ReceiveArgs, transport::kMaxGroup> args;
    const auto count = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < count; ++i) {
      if (mhandles[i] == nullptr) return bad_argument("irecv", "unregistered memory");
      args[i] = {.data = static_cast<std::byte*>(data[i]),
                 .capacity = static_cast<std::uint32_t>(std::min(sizes[i], kMaxMessageBytes)),
                 .tag = tags != nullptr ? tags[i] : 0,
                 .registration = static_cast<Registration*>(mhandles[i])};
    }
    auto& comm = as<transport::RecvComm>(recv_comm);
    FR_TRY_ASSIGN(*request, comm.engine.receive(comm, std::span(args).first(count)));
    return {};
  });
}

// Host memory needs no flush: what the NIC or the provider wrote is visible when its completion is.
nccl_net_result_t iflush(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                         void** request) {
  return guard<Call::kTraffic>([&]() -> Status {
    *request = nullptr;
    if (recv_comm == nullptr || n < 0 || n > static_cast<int>(transport::kMaxGroup)) {
      return bad_argument("iflush", "no communicator or an impossible number of receives");
    }
    std::array<transport::FlushArgs, transport::kMaxGroup> args;
    std::size_t count = 0;
    for (int i = 0; i < n; ++i) {
      if (sizes[i] == 0) continue;
      args[count++] = {.data = static_cast<const std::byte*>(data[i]),
                       .registration = static_cast<Registration*>(mhandles[i])};
    }
    auto& comm = as<transport::RecvComm>(recv_comm);
    FR_TRY_ASSIGN(*request, comm.engine.flush(comm, std::span(args).first(count)));
    return {};
  });
}

nccl_net_result_t test(void* request, int* done, int* sizes) {
  *done = 0;
  return guard<Call::kTraffic>([&]() -> Status {
    if (request == nullptr) return bad_argument("test", "no request");
    auto& tested = *static_cast<transport::Request*>(request);
    const std::uint32_t count = Engine::group_size(tested);
    std::array<std::uint32_t, transport::kMaxGroup> received{};
    FR_TRY_ASSIGN(const bool finished, tested.comm->engine.test(tested, received));
    if (!finished) return {};
    *done = 1;
    for (std::uint32_t i = 0; sizes != nullptr && i < count; ++i)
      sizes[i] = static_cast<int>(received[i]);
    return {};
  });
}

nccl_net_result_t close_send(void* send_comm) {
  return guard([&]() -> Status {
    if (send_comm == nullptr) return {};
    auto& comm = as<transport::SendComm>(send_comm);
    comm.engine.close(comm);
    return {};
  });
}

nccl_net_result_t close_recv(void* recv_comm) {
  return guard([&]() -> Status {
    if (recv_comm == nullptr) return {};
    auto& comm = as<transport::RecvComm>(recv_comm);
    comm.engine.close(comm);
    return {};
  });
}

nccl_net_result_t close_listen(void* listen_comm) {
  return guard([&]() -> Status {
    if (listen_comm == nullptr) return {};
    auto& listener = as<transport::Listener>(listen_comm);
    listener.engine.close(listener);
    return {};
  });
}

}  // namespace fabrail::plugin::api
