// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// libibverbs: posting, by the extended interface (wr_start ... wr_complete) and by the classic one.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/sim/efa/abi/handles.h"

namespace fabrail::sim {
namespace {

QpHandle& handle_of_qp(ibv_qp_ex* qp) { return *handle_of<QpHandle>(qp); }

WorkRequest& current(ibv_qp_ex* qp) { return handle_of_qp(qp).batch->back(); }

WorkRequest& begin(ibv_qp_ex* qp, Operation operation) {
  WorkRequest& request = handle_of_qp(qp).batch->emplace_back();
  request.id = qp->wr_id;
  request.operation = operation;
  return request;
}

void begin_rdma(ibv_qp_ex* qp, Operation operation, uint32_t key, uint64_t address) {
  WorkRequest& request = begin(qp, operation);
  request.remote_key = key;
  request.remote_address = address;
}

void set_immediate(WorkRequest& request, __be32 immediate) {
  request.has_immediate = true;
  request.immediate = immediate;
}

int set_segments(WorkRequest& request, const ibv_sge* segments, size_t count) {
  if (count > kMaxSendSegments) return EINVAL;
  request.segment_count = static_cast<uint8_t>(count);
  request.bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    request.segments[i] = {segments[i].addr, segments[i].length, segments[i].lkey};
    request.bytes += segments[i].length;
  }
  return 0;
}

int set_inline(WorkRequest& request, const ibv_data_buf* buffers, size_t count) {
  request.is_inline = true;
  request.bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    if (buffers[i].length > kInlineBytes - request.bytes) return EINVAL;
    std::memcpy(request.inline_data.data() + request.bytes, buffers[i].addr, buffers[i].length);
    request.bytes += static_cast<uint32_t>(buffers[i].length);
  }
  return 0;
}

void keep_error(QpHandle& handle, int code) {
  if (handle.error == 0) handle.error = code;
}

void set_destination(WorkRequest& request, ibv_ah* ah, uint32_t qpn, uint32_t key) {
  request.has_destination = ah != nullptr;
  if (ah != nullptr) request.to = {handle_of<AhHandle>(ah)->address, qpn, key};
}

/// What the driver refuses before the device sees it.
int check(const QueuePair& queue_pair, const WorkRequest& request) {
  const bool is_message = request.operation == Operation::kSend;
  if (!request.has_destination) return EINVAL;
  if (is_message) return request.bytes > kMtuBytes ? EINVAL : 0;
  if (!queue_pair.reliable() || request.is_inline) return EINVAL;
  return request.segment_count > kMaxRdmaSegments ? EINVAL : 0;
}

void wr_start(ibv_qp_ex* qp) {
  QpHandle& handle = handle_of_qp(qp);
  handle.posting->lock();
  handle.batch->clear();
  handle.error = 0;
}

int wr_complete(ibv_qp_ex* qp) {
  QpHandle& handle = handle_of_qp(qp);
  for (const WorkRequest& request : *handle.batch) keep_error(handle, check(*handle.core, request));
  const int code = handle.error != 0 ? handle.error : handle.core->post_send(*handle.batch);
  handle.posting->unlock();
  return code;
}

void wr_abort(ibv_qp_ex* qp) { handle_of_qp(qp).posting->unlock(); }

void wr_set_sge_list(ibv_qp_ex* qp, size_t count, const ibv_sge* segments) {
  keep_error(handle_of_qp(qp), set_segments(current(qp), segments, count));
}

void wr_set_sge(ibv_qp_ex* qp, uint32_t key, uint64_t address, uint32_t bytes) {
  const ibv_sge segment{address, bytes, key};
  wr_set_sge_list(qp, 1, &segment);
}

void wr_set_inline_list(ibv_qp_ex* qp, size_t count, const ibv_data_buf* buffers) {
  keep_error(handle_of_qp(qp), set_inline(current(qp), buffers, count));
}

void wr_set_inline(ibv_qp_ex* qp, void* address, size_t bytes) {
  const ibv_data_buf buffer{address, bytes};
  wr_set_inline_list(qp, 1, &buffer);
}

int to_request(const ibv_send_wr& wr, WorkRequest& request) {
  request.id = wr.wr_id;
  set_destination(request, wr.wr.ud.ah, wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey);
  if (wr.opcode == IBV_WR_SEND_WITH_IMM)
    set_immediate(request, wr.imm_data);
  else if (wr.opcode != IBV_WR_SEND)
    return EINVAL;
  const auto count = static_cast<size_t>(wr.num_sge);
  if (count > kMaxSendSegments) return EINVAL;
  if ((wr.send_flags & IBV_SEND_INLINE) == 0) return set_segments(request, wr.sg_list, count);
  ibv_data_buf buffers[kMaxSendSegments];
  for (size_t i = 0; i < count; ++i)
    buffers[i] = {reinterpret_cast<void*>(wr.sg_list[i].addr), wr.sg_list[i].length};
  return set_inline(request, buffers, count);
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  QueuePair& queue_pair = *handle_of<QpHandle>(qp)->core;
  for (; wr != nullptr; wr = wr->next) {
    WorkRequest request;
    int code = to_request(*wr, request);
    if (code == 0) code = check(queue_pair, request);
    if (code == 0) code = queue_pair.post_send({&request, 1});
    if (code == 0) continue;
    *bad = wr;
    return code;
  }
  return 0;
}

int post_receive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  QueuePair& queue_pair = *handle_of<QpHandle>(qp)->core;
  for (; wr != nullptr; wr = wr->next) {
    ReceiveRequest request;
    request.id = wr->wr_id;
    const auto count = static_cast<size_t>(wr->num_sge);
    int code = count > kMaxReceiveSegments ? EINVAL : 0;
    if (code == 0) {
      request.segment_count = static_cast<uint8_t>(count);
      for (size_t i = 0; i < count; ++i)
        request.segments[i] = {wr->sg_list[i].addr, wr->sg_list[i].length, wr->sg_list[i].lkey};
      code = queue_pair.post_receive(request);
    }
    if (code == 0) continue;
    *bad = wr;
    return code;
  }
  return 0;
}

}  // namespace

void install_send_operations(QpHandle& handle) {
  ibv_qp_ex& qp = handle.qp;
  qp.wr_start = wr_start;
  qp.wr_complete = wr_complete;
  qp.wr_abort = wr_abort;
  qp.wr_send = [](ibv_qp_ex* q) { begin(q, Operation::kSend); };
  qp.wr_send_imm = [](ibv_qp_ex* q, __be32 immediate) {
    set_immediate(begin(q, Operation::kSend), immediate);
  };
  qp.wr_rdma_read = [](ibv_qp_ex* q, uint32_t key, uint64_t address) {
    begin_rdma(q, Operation::kRead, key, address);
  };
  qp.wr_rdma_write = [](ibv_qp_ex* q, uint32_t key, uint64_t address) {
    begin_rdma(q, Operation::kWrite, key, address);
  };
  qp.wr_rdma_write_imm = [](ibv_qp_ex* q, uint32_t key, uint64_t address, __be32 immediate) {
    begin_rdma(q, Operation::kWrite, key, address);
    set_immediate(current(q), immediate);
  };
  qp.wr_set_ud_addr = [](ibv_qp_ex* q, ibv_ah* ah, uint32_t qpn, uint32_t key) {
    set_destination(current(q), ah, qpn, key);
  };
  qp.wr_set_sge = wr_set_sge;
  qp.wr_set_sge_list = wr_set_sge_list;
  qp.wr_set_inline_data = wr_set_inline;
  qp.wr_set_inline_data_list = wr_set_inline_list;
  handle.efadv.wr_set_processing_hints = [](EfadvQp*, uint32_t) {};
}

void install_post_operations(ibv_context_ops& operations) {
  operations.post_send = post_send;
  operations.post_recv = post_receive;
}

}  // namespace fabrail::sim
