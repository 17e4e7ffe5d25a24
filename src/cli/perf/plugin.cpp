// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A network plugin as NCCL loads it. The differences between ABI versions stand here and nowhere
// else: each call asks the compiler which signature the table has.
#include "src/cli/perf/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <limits>

#include "src/cli/common/failure.h"

namespace fabrail::cli::perf {
namespace {

constexpr int kOldest = 6;
constexpr int kNewest = 12;
constexpr uint64_t kCommId = 0xfab;
// NCCL's own limit for tables without max_p2p_bytes.
constexpr size_t kMaxBytesBeforeV9 = size_t{1} << 30;

const char* meaning_of(nccl_net_result_t result) {
  switch (result) {
    case NCCL_NET_SUCCESS:
      return "ncclSuccess";
    case NCCL_NET_UNHANDLED_CUDA_ERROR:
      return "ncclUnhandledCudaError, a CUDA call failed";
    case NCCL_NET_SYSTEM_ERROR:
      return "ncclSystemError, the system or the NIC refused";
    case NCCL_NET_INTERNAL_ERROR:
      return "ncclInternalError, a bug in the plugin or in perf";
    case NCCL_NET_INVALID_ARGUMENT:
      return "ncclInvalidArgument";
    case NCCL_NET_INVALID_USAGE:
      return "ncclInvalidUsage, the ranks disagree or a setting is wrong";
    case NCCL_NET_REMOTE_ERROR:
      return "ncclRemoteError, the peer died or is unreachable";
    case NCCL_NET_IN_PROGRESS:
      return "ncclInProgress, which a plugin must never return";
    case NCCL_NET_TIMEOUT:
      return "ncclTimeout";
  }
  return "an unknown result";
}

void check(nccl_net_result_t result, const char* call) {
  if (result == NCCL_NET_SUCCESS) return;
  throw Failure(fmt::format(
      "the plugin's {} failed with {} ({}); its warnings are above, -v shows all that it logs",
      call, static_cast<int>(result), meaning_of(result)));
}

nccl_net_result_t ignore_profiler(void**, int, void*, int64_t, void*) { return NCCL_NET_SUCCESS; }

/// Sizes are int in older tables: refuse what does not fit, as NCCL does.
template <class Size>
Size narrow(size_t bytes, const char* call) {
  if (bytes > static_cast<size_t>(std::numeric_limits<Size>::max())) {
    throw Failure(
        fmt::format("{} of {} bytes does not fit this ABI version; use --abi 9 or newer, "
                    "or smaller sizes",
                    call, bytes));
  }
  return static_cast<Size>(bytes);
}

/// Argument types of a function pointer of a table.
template <class F>
struct Signature;
template <class... Arguments>
struct Signature<nccl_net_result_t (*)(Arguments...)> {
  static constexpr size_t kCount = sizeof...(Arguments);
  template <size_t I>
  using Argument = std::tuple_element_t<I, std::tuple<Arguments...>>;
};

template <class T>
concept HasContext = requires(T table) {
  table.finalize;
};

std::unique_ptr<void, int (*)(void*)> load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Failure(
        fmt::format("cannot load the plugin: {}; give its path with --plugin", dlerror()));
  }
  return {library, dlclose};
}

}  // namespace

Plugin::Plugin(const std::string& path, int abi) : path_(path), library_(load(path)) {
  find_table(abi);
}

Plugin::~Plugin() {  // NOLINT(bugprone-exception-escape): as declared
  if (!initialised_) return;
  std::visit(
      [this](auto* table) {
        if constexpr (HasContext<decltype(*table)>) table->finalize(context_);
      },
      table_);
}

template <class T>
bool Plugin::take(int abi, int wanted) {
  if (wanted != 0 && wanted != abi) return false;
  const std::string symbol = fmt::format("ncclNetPlugin_v{}", abi);
  const void* table = dlsym(library_.get(), symbol.c_str());
  if (table == nullptr) return false;
  table_ = static_cast<const T*>(table);
  abi_ = abi;
  return true;
}

void Plugin::find_table(int wanted) {
  const bool found = take<nccl_net_v12_t>(12, wanted) || take<nccl_net_v11_t>(11, wanted) ||
                     take<nccl_net_v10_t>(10, wanted) || take<nccl_net_v9_t>(9, wanted) ||
                     take<nccl_net_v8_t>(8, wanted) || take<nccl_net_v7_t>(7, wanted) ||
                     take<nccl_net_v6_t>(6, wanted);
  if (found) return;
  const std::string versions =
      wanted == 0 ? fmt::format("v{} to v{}", kOldest, kNewest) : fmt::format("v{}", wanted);
  throw Failure(
      fmt::format("{} exports no ncclNetPlugin of {}: not an NCCL network plugin, or one "
                  "for another NCCL; nm -D shows what it has",
                  path_, versions));
}

const char* Plugin::name() const {
  return std::visit([](auto* table) { return table->name; }, table_);
}

void Plugin::init(nccl_net_log_fn log) {
  nccl_net_comm_config_t config{.traffic_class = NCCL_NET_TRAFFIC_CLASS_UNDEFINED};
  const auto result = std::visit(
      [&](auto* table) {
        if constexpr (HasContext<decltype(*table)>) {
          return table->init(&context_, kCommId, &config, log, ignore_profiler);
        } else if constexpr (requires { table->init(log, ignore_profiler); }) {
          return table->init(log, ignore_profiler);
        } else {
          return table->init(log);
        }
      },
      table_);
  check(result, "init");
  initialised_ = true;
}

int Plugin::devices() {
  int count = 0;
  check(std::visit([&](auto* table) { return table->devices(&count); }, table_), "devices");
  return count;
}

DeviceProperties Plugin::properties(int device) {
  return std::visit(
      [&](auto* table) -> DeviceProperties {
        using Pointer = typename Signature<decltype(table->get_properties)>::template Argument<1>;
        std::remove_pointer_t<Pointer> properties{};
        check(table->get_properties(device, &properties), "getProperties");
        size_t limit = kMaxBytesBeforeV9;
        if constexpr (requires { properties.max_p2p_bytes; }) limit = properties.max_p2p_bytes;
        return {.name = properties.name == nullptr ? "" : properties.name,
                .max_message_bytes = limit,
                .takes_gpu_memory = (properties.ptr_support & NCCL_NET_PTR_CUDA) != 0};
      },
      table_);
}

void* Plugin::listen(int device, Handle& handle) {
  void* comm = nullptr;
  const auto result = std::visit(
      [&](auto* table) {
        if constexpr (HasContext<decltype(*table)>) {
          return table->listen(context_, device, handle.data(), &comm);
        } else {
          return table->listen(device, handle.data(), &comm);
        }
      },
      table_);
  check(result, "listen");
  if (comm == nullptr) throw Failure("the plugin's listen gave success but no listenComm");
  return comm;
}

void* Plugin::connect(int device, Handle& handle) {
  void* comm = nullptr;
  nccl_net_device_handle_t* offload = nullptr;
  nccl_net_comm_config_t config{.traffic_class = NCCL_NET_TRAFFIC_CLASS_UNDEFINED};
  const auto result = std::visit(
      [&](auto* table) {
        using Function = decltype(table->connect);
        if constexpr (Signature<Function>::kCount == 3) {
          return table->connect(device, handle.data(), &comm);
        } else if constexpr (Signature<Function>::kCount == 4) {
          return table->connect(device, handle.data(), &comm, &offload);
        } else if constexpr (HasContext<decltype(*table)>) {
          return table->connect(context_, device, handle.data(), &comm, &offload);
        } else {
          return table->connect(device, &config, handle.data(), &comm, &offload);
        }
      },
      table_);
  check(result, "connect");
  return comm;
}

void* Plugin::accept(void* listen_comm) {
  void* comm = nullptr;
  nccl_net_device_handle_t* offload = nullptr;
  const auto result = std::visit(
      [&](auto* table) {
        if constexpr (Signature<decltype(table->accept)>::kCount == 2) {
          return table->accept(listen_comm, &comm);
        } else {
          return table->accept(listen_comm, &comm, &offload);
        }
      },
      table_);
  check(result, "accept");
  return comm;
}

void* Plugin::reg_mr(void* comm, void* address, size_t bytes, int type) {
  void* mhandle = nullptr;
  const auto result = std::visit(
      [&](auto* table) {
        using Size = typename Signature<decltype(table->reg_mr)>::template Argument<2>;
        return table->reg_mr(comm, address, narrow<Size>(bytes, "regMr"), type, &mhandle);
      },
      table_);
  check(result, "regMr");
  return mhandle;
}

void Plugin::dereg_mr(void* comm, void* mhandle) {
  check(std::visit([&](auto* table) { return table->dereg_mr(comm, mhandle); }, table_), "deregMr");
}

void* Plugin::isend(void* comm, void* address, size_t bytes, int tag, void* mhandle) {
  void* request = nullptr;
  const auto result = std::visit(
      [&](auto* table) {
        using Function = decltype(table->isend);
        using Size = typename Signature<Function>::template Argument<2>;
        const Size size = narrow<Size>(bytes, "isend");
        if constexpr (Signature<Function>::kCount == 7) {
          return table->isend(comm, address, size, tag, mhandle, nullptr, &request);
        } else {
          return table->isend(comm, address, size, tag, mhandle, &request);
        }
      },
      table_);
  check(result, "isend");
  return request;
}

void* Plugin::irecv(void* comm, void* address, size_t bytes, int tag, void* mhandle) {
  void* request = nullptr;
  void* profiler_handle = nullptr;
  const auto result = std::visit(
      [&](auto* table) {
        using Function = decltype(table->irecv);
        using Sizes = typename Signature<Function>::template Argument<3>;
        auto size = narrow<std::remove_pointer_t<Sizes>>(bytes, "irecv");
        if constexpr (Signature<Function>::kCount == 8) {
          return table->irecv(comm, 1, &address, &size, &tag, &mhandle, &profiler_handle, &request);
        } else {
          return table->irecv(comm, 1, &address, &size, &tag, &mhandle, &request);
        }
      },
      table_);
  check(result, "irecv");
  return request;
}

void* Plugin::iflush(void* comm, void* address, size_t bytes, void* mhandle) {
  void* request = nullptr;
  int size = narrow<int>(bytes, "iflush");
  check(
      std::visit(
          [&](auto* table) { return table->iflush(comm, 1, &address, &size, &mhandle, &request); },
          table_),
      "iflush");
  return request;
}

bool Plugin::flushed(void* request) {
  int done = 0;
  check(std::visit([&](auto* table) { return table->test(request, &done, nullptr); }, table_),
        "test of a flush");
  return done != 0;
}

std::optional<size_t> Plugin::test(void* request) {
  // NCCL leaves `done` uninitialised: any value but 0 that the plugin does not write shows up.
  int done = -1;
  // NCCL sums this array over its most receives of a group.
  std::array<int, 64> sizes{};
  check(std::visit([&](auto* table) { return table->test(request, &done, sizes.data()); }, table_),
        "test");
  if (done == -1) throw Failure("the plugin's test did not write *done");
  if (done == 0) return std::nullopt;
  return static_cast<size_t>(sizes[0]);
}

void Plugin::close_send(void* comm) {
  check(std::visit([&](auto* table) { return table->close_send(comm); }, table_), "closeSend");
}

void Plugin::close_recv(void* comm) {
  check(std::visit([&](auto* table) { return table->close_recv(comm); }, table_), "closeRecv");
}

void Plugin::close_listen(void* comm) {
  check(std::visit([&](auto* table) { return table->close_listen(comm); }, table_), "closeListen");
}

}  // namespace fabrail::cli::perf
