// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// The EFA-specific verbs as libefa.so.1 of rdma-core 64 has them: layouts declared here, since
// older headers lack the tails.
//
// The structs only grow. Callers say the size that they know, and get no more than that.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace fabrail::sim {

enum EfadvDeviceCapability : uint32_t {
  kEfadvRdmaRead = 1 << 0,
  kEfadvRnrRetry = 1 << 1,
  kEfadvCqWithSgid = 1 << 2,
  kEfadvRdmaWrite = 1 << 3,
  kEfadvUnsolicitedWrite = 1 << 4,
};

struct EfadvDeviceAttributes {
  uint64_t comp_mask;
  uint32_t max_sq_wr;
  uint32_t max_rq_wr;
  uint16_t max_sq_sge;
  uint16_t max_rq_sge;
  uint16_t inline_buf_size;
  uint16_t inline_buf_size_ex;
  uint32_t device_caps;
  uint32_t max_rdma_size;
};
static_assert(sizeof(EfadvDeviceAttributes) == 32);

struct EfadvAhAttributes {
  uint64_t comp_mask;
  uint16_t ahn;
  uint8_t reserved[6];
};
static_assert(sizeof(EfadvAhAttributes) == 16);

inline constexpr uint32_t kEfadvSrd = 0;
inline constexpr uint16_t kEfadvQpUnsolicitedWrite = 1 << 0;

struct EfadvQpOptions {
  uint64_t comp_mask;
  uint32_t driver_qp_type;
  uint16_t flags;
  uint8_t service_level;
  uint8_t reserved;
  uint64_t wr_flags;
};
static_assert(sizeof(EfadvQpOptions) == 24);

struct EfadvQp {
  uint64_t comp_mask;
  void (*wr_set_processing_hints)(EfadvQp* qp, uint32_t hints);
};

struct EfadvCqOptions {
  uint64_t comp_mask;
  uint64_t wc_flags;
  uint64_t flags;
  struct {
    uint8_t* buffer;
    uint64_t length;
    uint64_t offset;
    int32_t fd;
    uint8_t reserved[4];
  } external_memory;
};
static_assert(sizeof(EfadvCqOptions) == 56);

struct EfadvCq {
  uint64_t comp_mask;
  int (*wc_read_sgid)(EfadvCq* cq, ibv_gid* gid);
  bool (*wc_is_unsolicited)(EfadvCq* cq);
};

struct EfadvMrAttributes {
  uint64_t comp_mask;
  uint16_t ic_id_validity;
  uint16_t recv_ic_id;
  uint16_t rdma_read_ic_id;
  uint16_t rdma_recv_ic_id;
};
static_assert(sizeof(EfadvMrAttributes) == 16);

/// What libefa.so.1 calls in libibverbs.so.1, so that one copy of the emulator serves both.
struct EfadvCalls {
  ibv_qp* (*create_driver_qp)(ibv_pd*, ibv_qp_init_attr*, uint32_t type);
  ibv_qp* (*create_qp_ex)(ibv_context*, ibv_qp_init_attr_ex*, EfadvQpOptions*, uint32_t bytes);
  int (*query_device)(ibv_context*, EfadvDeviceAttributes*, uint32_t bytes);
  int (*query_ah)(ibv_ah*, EfadvAhAttributes*, uint32_t bytes);
  ibv_cq_ex* (*create_cq)(ibv_context*, ibv_cq_init_attr_ex*, EfadvCqOptions*, uint32_t bytes);
  EfadvCq* (*cq_from_ibv_cq_ex)(ibv_cq_ex*);
  int (*query_mr)(ibv_mr*, EfadvMrAttributes*, uint32_t bytes);
  int (*max_send_depth)(ibv_context*);
  int (*max_receive_depth)(ibv_context*);
  EfadvQp* (*qp_from_ibv_qp_ex)(ibv_qp_ex*);
};

}  // namespace fabrail::sim

/// Exported by libibverbs.so.1 for libefa.so.1 alone.
extern "C" const fabrail::sim::EfadvCalls* fabrail_sim_efadv_calls();
