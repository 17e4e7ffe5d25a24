// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The structs that verbs users hold, with our objects behind them. The public struct is the first
// member of each handle.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/sim/efa/abi/efadv_types.h"
#include "tests/sim/efa/core/completion_queue.h"
#include "tests/sim/efa/core/device.h"
#include "tests/sim/efa/core/queue_pair.h"

namespace fabrail::sim {

struct DeviceHandle {
  ibv_device device{};
  Device* core = nullptr;
};

/// Port events of one opened device, in the order in which they happened.
struct AsyncEvents {
  std::mutex mutex;
  std::deque<ibv_async_event> waiting;
};

struct ContextHandle {
  verbs_context verbs{};
  Device* core = nullptr;
  AsyncEvents* events = nullptr;
  uint32_t listener = 0;
};

struct PdHandle {
  ibv_pd pd{};
  Device* core = nullptr;
};

struct MrHandle {
  ibv_mr mr{};
  Device* core = nullptr;
  void* mapped = nullptr;  // of a dma-buf
  size_t mapped_bytes = 0;
};

struct AhHandle {
  ibv_ah ah{};
  Device* core = nullptr;
  Address address;
  uint16_t number = 0;
};

struct ChannelHandle {
  ibv_comp_channel channel{};
  EventChannel* core = nullptr;
};

struct CqHandle;

/// The efadv view of a completion queue.
struct EfadvCqHandle {
  EfadvCq cq{};
  CqHandle* owner = nullptr;
};

struct CqHandle {
  ibv_cq_ex cq{};
  CompletionQueue* core = nullptr;
  Completion current;  // what the read_ functions are about
  uint32_t empty_polls = 0;
  EfadvCqHandle efadv;
};

struct QpHandle {
  ibv_qp_ex qp{};
  QueuePair* core = nullptr;
  std::mutex* posting = nullptr;              // from wr_start to wr_complete
  std::vector<WorkRequest>* batch = nullptr;  // posted between the two
  int error = 0;                              // the first one of the batch
  uint32_t max_send = 0;
  uint32_t max_receive = 0;
  EfadvQp efadv{};
};

template <typename Handle, typename Public>
Handle* handle_of(Public* value) {
  static_assert(std::is_standard_layout_v<Handle>);
  return reinterpret_cast<Handle*>(value);
}

inline ContextHandle* context_of(ibv_context* context) {
  return reinterpret_cast<ContextHandle*>(reinterpret_cast<std::byte*>(context) -
                                          offsetof(verbs_context, context));
}

ibv_wc_status wc_status(Status status);

/// Queues an asynchronous event and makes the context's async_fd readable.
void raise_event(ContextHandle& context, const ibv_async_event& event);

ibv_cq_ex* open_cq(ibv_context* context, const ibv_cq_init_attr_ex& options);
ibv_qp* open_qp(ibv_context* context, const ibv_qp_init_attr_ex& options, bool reliable,
                bool unsolicited);
void install_send_operations(QpHandle& handle);
void install_queue_operations(ibv_context_ops& operations);

}  // namespace fabrail::sim
