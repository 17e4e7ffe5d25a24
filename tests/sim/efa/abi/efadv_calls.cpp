// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The EFA-specific verbs, in the library that has the emulator; libefa.so.1 forwards to here.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tests/sim/efa/abi/exports.h"
#include "tests/sim/efa/abi/handles.h"

namespace fabrail::sim {
namespace {

/// Gives a caller as much of a struct as it has room for.
template <typename T>
int answer(T* to, uint32_t bytes, const T& value) {
  std::memset(to, 0, bytes);
  std::memcpy(to, &value, std::min<size_t>(bytes, sizeof value));
  return 0;
}

uint32_t capabilities(const Profile& profile) {
  uint32_t flags = kEfadvRnrRetry | kEfadvCqWithSgid;
  if (profile.rdma_read) flags |= kEfadvRdmaRead;
  if (profile.rdma_write) flags |= kEfadvRdmaWrite;
  if (profile.unsolicited_write) flags |= kEfadvUnsolicitedWrite;
  return flags;
}

int query_device(ibv_context* context, EfadvDeviceAttributes* attributes, uint32_t bytes) {
  const Profile& profile = context_of(context)->core->profile();
  EfadvDeviceAttributes values{};
  values.max_sq_wr = profile.send_queue_entries;
  values.max_rq_wr = profile.receive_queue_entries;
  values.max_sq_sge = kMaxSendSegments;
  values.max_rq_sge = kMaxReceiveSegments;
  values.inline_buf_size = values.inline_buf_size_ex = kInlineBytes;
  values.device_caps = capabilities(profile);
  if (profile.rdma_read || profile.rdma_write) values.max_rdma_size = profile.max_rdma_bytes;
  return answer(attributes, bytes, values);
}

int query_ah(ibv_ah* ah, EfadvAhAttributes* attributes, uint32_t bytes) {
  EfadvAhAttributes values{};
  values.ahn = handle_of<AhHandle>(ah)->number;
  return answer(attributes, bytes, values);
}

/// All zero: no interconnect id is valid.
int query_mr(ibv_mr*, EfadvMrAttributes* attributes, uint32_t bytes) {
  return answer(attributes, bytes, EfadvMrAttributes{});
}

ibv_qp* create_driver_qp(ibv_pd* pd, ibv_qp_init_attr* attributes, uint32_t type) {
  if (type != kEfadvSrd) {
    errno = EINVAL;
    return nullptr;
  }
  ibv_qp_init_attr_ex extended{};
  extended.qp_context = attributes->qp_context;
  extended.send_cq = attributes->send_cq;
  extended.recv_cq = attributes->recv_cq;
  extended.cap = attributes->cap;
  extended.pd = pd;
  return open_qp(pd->context, extended, true, false);
}

/// `flags` was a reserved field before rdma-core 52; the struct had the same size then.
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes, EfadvQpOptions* options,
                     uint32_t bytes) {
  const bool has_flags = bytes >= offsetof(EfadvQpOptions, service_level);
  const uint16_t flags = has_flags ? options->flags : uint16_t{0};
  const Profile& profile = context_of(context)->core->profile();
  const bool reliable =
      attributes->qp_type == IBV_QPT_DRIVER && options->driver_qp_type == kEfadvSrd;
  const bool unsolicited = (flags & kEfadvQpUnsolicitedWrite) != 0;
  const bool known = reliable || attributes->qp_type == IBV_QPT_UD;
  if (!known || (flags & ~kEfadvQpUnsolicitedWrite) != 0 ||
      (unsolicited && !profile.unsolicited_write)) {
    errno = known ? EOPNOTSUPP : EINVAL;
    return nullptr;
  }
  return open_qp(context, *attributes, reliable, unsolicited);
}

ibv_cq_ex* create_cq(ibv_context* context, ibv_cq_init_attr_ex* attributes, EfadvCqOptions* options,
                     uint32_t bytes) {
  const bool has_flags = bytes >= offsetof(EfadvCqOptions, flags) + sizeof(EfadvCqOptions::flags);
  if (has_flags && options->flags != 0) {  // completions go to no memory of the caller's
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return open_cq(context, *attributes);
}

int max_send_depth(ibv_context* context) {
  return static_cast<int>(context_of(context)->core->profile().send_queue_entries);
}

int max_receive_depth(ibv_context* context) {
  return static_cast<int>(context_of(context)->core->profile().receive_queue_entries);
}

}  // namespace
}  // namespace fabrail::sim

FR_SIM_EXPORT const fabrail::sim::EfadvCalls* fabrail_sim_efadv_calls() {
  using namespace fabrail::sim;
  static const EfadvCalls calls = {
      create_driver_qp,  create_qp_ex,
      query_device,      query_ah,
      create_cq,         [](ibv_cq_ex* cq) { return &handle_of<CqHandle>(cq)->efadv.cq; },
      query_mr,          max_send_depth,
      max_receive_depth, [](ibv_qp_ex* qp) { return &handle_of<QpHandle>(qp)->efadv; },
  };
  return &calls;
}
