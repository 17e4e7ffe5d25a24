// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// libibverbs: completion queues, their extended polling interface, and event channels.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "tests/sim/efa/abi/exports.h"
#include "tests/sim/efa/abi/handles.h"
#include "tests/sim/efa/abi/host.h"

namespace fabrail::sim {
namespace {

constexpr uint32_t kYieldAfter = 64;  // empty polls: pollers usually outnumber the cores here

CqHandle* handle_of_cq(ibv_cq_ex* cq) { return handle_of<CqHandle>(cq); }

bool next_completion(CqHandle& handle) {
  if (!handle.core->pop(handle.current)) {
    // What moved counts: a poller that yields between two pieces of a transfer waits for its turn
    // at each of them.
    if (handle.core->progress()) handle.empty_polls = 0;
    if (!handle.core->pop(handle.current)) return false;
  }
  handle.cq.wr_id = handle.current.id;
  handle.cq.status = wc_status(handle.current.status);
  return true;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr*) {
  CqHandle& handle = *handle_of_cq(cq);
  handle.core->poll_mutex.lock();
  if (next_completion(handle)) {
    handle.empty_polls = 0;
    return 0;
  }
  const bool yield = ++handle.empty_polls > kYieldAfter;
  handle.core->poll_mutex.unlock();  // the caller does not call end_poll after ENOENT
  if (yield) sched_yield();
  return ENOENT;
}

int next_poll(ibv_cq_ex* cq) { return next_completion(*handle_of_cq(cq)) ? 0 : ENOENT; }

void end_poll(ibv_cq_ex* cq) { handle_of_cq(cq)->core->poll_mutex.unlock(); }

ibv_wc_opcode opcode_of(CompletionKind kind) {
  switch (kind) {
    case CompletionKind::kSend:
    case CompletionKind::kRead:
      return IBV_WC_SEND;  // real devices report reads so, too
    case CompletionKind::kWrite:
      return IBV_WC_RDMA_WRITE;
    case CompletionKind::kReceive:
      return IBV_WC_RECV;
    case CompletionKind::kReceiveWriteImmediate:
      return IBV_WC_RECV_RDMA_WITH_IMM;
  }
  return IBV_WC_SEND;
}

unsigned flags_of(const Completion& completion) {
  return completion.has_immediate ? IBV_WC_WITH_IMM : 0;
}

void install_readers(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = [](ibv_cq_ex* c) { return opcode_of(handle_of_cq(c)->current.kind); };
  cq.read_vendor_err = [](ibv_cq_ex* c) {
    return static_cast<uint32_t>(handle_of_cq(c)->current.status);
  };
  cq.read_byte_len = [](ibv_cq_ex* c) { return handle_of_cq(c)->current.bytes; };
  cq.read_imm_data = [](ibv_cq_ex* c) { return __be32{handle_of_cq(c)->current.immediate}; };
  cq.read_qp_num = [](ibv_cq_ex* c) { return handle_of_cq(c)->current.qpn; };
  cq.read_src_qp = [](ibv_cq_ex* c) { return handle_of_cq(c)->current.source_qpn; };
  cq.read_wc_flags = [](ibv_cq_ex* c) { return flags_of(handle_of_cq(c)->current); };
  cq.read_slid = [](ibv_cq_ex* c) { return uint32_t{handle_of_cq(c)->current.source_ah}; };
  cq.read_sl = [](ibv_cq_ex*) { return uint8_t{0}; };
  cq.read_dlid_path_bits = [](ibv_cq_ex*) { return uint8_t{0}; };
}

const Completion& current_of(EfadvCq* cq) {
  return reinterpret_cast<EfadvCqHandle*>(cq)->owner->current;
}

/// Only for a source without an address handle, as on real devices.
int read_sgid(EfadvCq* cq, ibv_gid* gid) {
  const Completion& completion = current_of(cq);
  if (completion.source_ah != kNoAddressHandle) return -ENOENT;
  const Gid value = encode_gid(completion.source);
  std::copy(value.begin(), value.end(), gid->raw);
  return 0;
}

ibv_wc to_wc(const Completion& completion) {
  ibv_wc wc{};
  wc.wr_id = completion.id;
  wc.status = wc_status(completion.status);
  wc.opcode = opcode_of(completion.kind);
  wc.vendor_err = static_cast<uint32_t>(completion.status);
  wc.byte_len = completion.bytes;
  wc.imm_data = completion.immediate;
  wc.qp_num = completion.qpn;
  wc.src_qp = completion.source_qpn;
  wc.wc_flags = flags_of(completion);
  wc.slid = completion.source_ah;
  return wc;
}

int poll_cq(ibv_cq* cq, int entries, ibv_wc* wc) {
  CqHandle& handle = *handle_of<CqHandle>(cq);
  const std::lock_guard lock(handle.core->poll_mutex);
  int taken = 0;
  while (taken < entries && next_completion(handle)) wc[taken++] = to_wc(handle.current);
  handle.empty_polls = taken == 0 ? handle.empty_polls + 1 : 0;
  if (handle.empty_polls > kYieldAfter) sched_yield();
  return taken;
}

int request_notification(ibv_cq* cq, int) {
  CompletionQueue& queue = *handle_of<CqHandle>(cq)->core;
  if (queue.channel() == nullptr) return EINVAL;
  queue.arm();
  return 0;
}

}  // namespace

ibv_wc_status wc_status(Status status) {
  switch (status) {
    case Status::kOk:
      return IBV_WC_SUCCESS;
    case Status::kFlushed:
      return IBV_WC_WR_FLUSH_ERR;
    case Status::kQpInternal:
    case Status::kUnsupportedOp:
    case Status::kInvalidAh:
      return IBV_WC_LOC_QP_OP_ERR;
    case Status::kInvalidLkey:
      return IBV_WC_LOC_PROT_ERR;
    case Status::kBadLength:
      return IBV_WC_LOC_LEN_ERR;
    case Status::kRemoteBadAddress:
      return IBV_WC_REM_ACCESS_ERR;
    case Status::kRemoteAbort:
      return IBV_WC_REM_ABORT_ERR;
    case Status::kBadDestinationQpn:
      return IBV_WC_REM_INV_RD_REQ_ERR;
    case Status::kReceiverNotReady:
      return IBV_WC_RNR_RETRY_EXC_ERR;
    case Status::kRemoteBadLength:
      return IBV_WC_REM_INV_REQ_ERR;
    case Status::kRemoteBadStatus:
      return IBV_WC_BAD_RESP_ERR;
    case Status::kUnresponsive:
    case Status::kUnknownPeer:
    case Status::kUnreachable:
      return IBV_WC_RESP_TIMEOUT_ERR;
    case Status::kFeatureMismatch:
      break;
  }
  return IBV_WC_GENERAL_ERR;
}

ibv_cq_ex* open_cq(ibv_context* context, const ibv_cq_init_attr_ex& options) {
  if ((options.wc_flags & ~uint64_t{IBV_WC_STANDARD_FLAGS}) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  auto* handle = new CqHandle;
  EventChannel* channel =
      options.channel == nullptr ? nullptr : handle_of<ChannelHandle>(options.channel)->core;
  const uint32_t entries = std::bit_ceil(std::max(options.cqe, 1u));
  handle->core = new CompletionQueue(entries, channel);
  handle->core->on_overrun = [handle, context] {
    ibv_async_event event{};
    event.event_type = IBV_EVENT_CQ_ERR;
    event.element.cq = ibv_cq_ex_to_cq(&handle->cq);
    raise_event(*context_of(context), event);
  };
  handle->core->handle = handle;
  handle->efadv.owner = handle;
  handle->efadv.cq.wc_read_sgid = read_sgid;
  handle->efadv.cq.wc_is_unsolicited = [](EfadvCq* cq) { return current_of(cq).unsolicited; };
  ibv_cq_ex& cq = handle->cq;
  cq.context = context;
  cq.channel = options.channel;
  cq.cq_context = options.cq_context;
  cq.cqe = static_cast<int>(entries);
  install_readers(cq);
  return &cq;
}

void install_poll_operations(ibv_context_ops& operations) {
  operations.poll_cq = poll_cq;
  operations.req_notify_cq = request_notification;
}

}  // namespace fabrail::sim

using namespace fabrail::sim;

FR_SIM_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                                    ibv_comp_channel* channel, int vector) {
  ibv_cq_init_attr_ex options{};
  options.cqe = static_cast<uint32_t>(entries);
  options.cq_context = cq_context;
  options.channel = channel;
  options.comp_vector = static_cast<uint32_t>(vector);
  return ibv_cq_ex_to_cq(open_cq(context, options));
}

FR_SIM_EXPORT int ibv_destroy_cq(ibv_cq* cq) {
  auto* handle = handle_of<CqHandle>(cq);
  if (!belongs_here(*context_of(cq->context)->core)) return 0;
  if (handle->core->in_use()) return EBUSY;
  if (handle->core->channel() != nullptr) handle->core->channel()->forget(handle->core);
  delete handle->core;
  delete handle;
  return 0;
}

FR_SIM_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* handle = new ChannelHandle;
  handle->core = new EventChannel;
  handle->channel.context = context;
  handle->channel.fd = handle->core->fd();
  return &handle->channel;
}

FR_SIM_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  auto* handle = handle_of<ChannelHandle>(channel);
  delete handle->core;
  delete handle;
  return 0;
}

FR_SIM_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  CompletionQueue* queue = handle_of<ChannelHandle>(channel)->core->wait();
  if (queue == nullptr) return -1;
  ibv_cq_ex& ex = static_cast<CqHandle*>(queue->handle)->cq;
  *cq = ibv_cq_ex_to_cq(&ex);
  *cq_context = ex.cq_context;
  return 0;
}

FR_SIM_EXPORT void ibv_ack_cq_events(ibv_cq*, unsigned) {}
