// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// libibverbs: creating, changing and destroying queue pairs.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tests/sim/efa/abi/exports.h"
#include "tests/sim/efa/abi/handles.h"
#include "tests/sim/efa/abi/host.h"

namespace fabrail::sim {
namespace {

bool within_limits(const ibv_qp_cap& cap, const Profile& profile) {
  return cap.max_send_wr <= profile.send_queue_entries &&
         cap.max_recv_wr <= profile.receive_queue_entries && cap.max_send_sge <= kMaxSendSegments &&
         cap.max_recv_sge <= kMaxReceiveSegments && cap.max_inline_data <= kInlineBytes;
}

QueuePairOptions to_options(const ibv_qp_init_attr_ex& attributes) {
  QueuePairOptions options;
  options.pd = attributes.pd == nullptr ? 0 : attributes.pd->handle;
  options.send_depth = std::max(1u, attributes.cap.max_send_wr);
  options.receive_depth = std::max(1u, attributes.cap.max_recv_wr);
  options.send_completions = handle_of<CqHandle>(attributes.send_cq)->core;
  options.receive_completions = handle_of<CqHandle>(attributes.recv_cq)->core;
  return options;
}

}  // namespace

ibv_qp* open_qp(ibv_context* context, const ibv_qp_init_attr_ex& attributes, bool reliable,
                bool unsolicited) {
  Device& device = *context_of(context)->core;
  if (attributes.send_cq == nullptr || attributes.recv_cq == nullptr ||
      !within_limits(attributes.cap, device.profile())) {
    errno = EINVAL;
    return nullptr;
  }
  QueuePairOptions options = to_options(attributes);
  options.reliable = reliable;
  options.unsolicited = unsolicited;
  auto core = QueuePair::open(device, options);
  if (!core) return nullptr;
  auto* handle = new QpHandle;
  ibv_qp& qp = handle->qp.qp_base;
  qp.context = context;
  qp.qp_context = attributes.qp_context;
  qp.pd = attributes.pd;
  qp.send_cq = attributes.send_cq;
  qp.recv_cq = attributes.recv_cq;
  qp.qp_num = qp.handle = core->number();
  qp.state = IBV_QPS_RESET;
  qp.qp_type = reliable ? IBV_QPT_DRIVER : IBV_QPT_UD;
  handle->max_send = options.send_depth;
  handle->max_receive = options.receive_depth;
  handle->posting = new std::mutex;
  handle->batch = new std::vector<WorkRequest>;
  handle->core = core.release();
  handle->core->handle = handle;
  install_send_operations(*handle);
  return &qp;
}

void install_poll_operations(ibv_context_ops& operations);
void install_post_operations(ibv_context_ops& operations);

void install_queue_operations(ibv_context_ops& operations) {
  install_poll_operations(operations);
  install_post_operations(operations);
}

}  // namespace fabrail::sim

using namespace fabrail::sim;

FR_SIM_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  if (attributes->qp_type != IBV_QPT_UD) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  ibv_qp_init_attr_ex extended{};
  extended.qp_context = attributes->qp_context;
  extended.send_cq = attributes->send_cq;
  extended.recv_cq = attributes->recv_cq;
  extended.cap = attributes->cap;
  extended.qp_type = attributes->qp_type;
  extended.pd = pd;
  return open_qp(pd->context, extended, false, false);
}

FR_SIM_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) { return &handle_of<QpHandle>(qp)->qp; }

FR_SIM_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  QueuePair& core = *handle_of<QpHandle>(qp)->core;
  if ((mask & IBV_QP_QKEY) != 0) core.set_queue_key(attributes->qkey);
  if ((mask & IBV_QP_RNR_RETRY) != 0) core.set_rnr_retry(attributes->rnr_retry);
  if ((mask & IBV_QP_STATE) == 0) return 0;
  qp->state = attributes->qp_state;
  if (qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS) core.start_receiving();
  if (qp->state == IBV_QPS_ERR) core.fail();
  return 0;
}

FR_SIM_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int,
                               ibv_qp_init_attr* initial) {
  const QpHandle& handle = *handle_of<QpHandle>(qp);
  *attributes = {};
  *initial = {};
  attributes->qp_state = qp->state;
  attributes->qkey = handle.core->queue_key();
  attributes->port_num = 1;
  attributes->cap.max_send_wr = handle.max_send;
  attributes->cap.max_recv_wr = handle.max_receive;
  attributes->cap.max_send_sge = kMaxSendSegments;
  attributes->cap.max_recv_sge = kMaxReceiveSegments;
  attributes->cap.max_inline_data = kInlineBytes;
  initial->cap = attributes->cap;
  initial->send_cq = qp->send_cq;
  initial->recv_cq = qp->recv_cq;
  initial->qp_type = qp->qp_type;
  return 0;
}

/// No whole message arrives in order on these devices; the aligned 128 bytes of a write may.
FR_SIM_EXPORT int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode operation, uint32_t flags) {
  // Newer headers name them IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS and _ALIGNED_128_BYTES.
  constexpr uint32_t kReturnCapabilities = 1;
  constexpr int kAligned128Bytes = 2;
  const bool is_write = operation == IBV_WR_RDMA_WRITE || operation == IBV_WR_RDMA_WRITE_WITH_IMM;
  const bool whole = handle_of<QpHandle>(qp)->core->device().profile().writes_whole_128;
  return (flags & kReturnCapabilities) != 0 && is_write && whole ? kAligned128Bytes : 0;
}

FR_SIM_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  auto* handle = handle_of<QpHandle>(qp);
  if (!belongs_here(handle->core->device())) return 0;
  delete handle->core;
  delete handle->batch;
  delete handle->posting;
  delete handle;
  return 0;
}
