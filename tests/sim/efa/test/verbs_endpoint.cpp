// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/sim/efa/test/verbs_endpoint.h"

#include "tests/sim/efa/abi/efadv_types.h"
#include "tests/sim/efa/test/network.h"

namespace fabrail::sim {

namespace {

constexpr uint32_t kQueueKey = 0x1234;

}  // namespace

VerbsEndpoint::VerbsEndpoint() : memory_(kBytes) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  context_ = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  pd_ = ibv_alloc_pd(context_);
  ibv_cq_init_attr_ex cq_options{};
  cq_options.cqe = 64;
  cq_ = ibv_create_cq_ex(context_, &cq_options);
  ibv_qp_init_attr_ex options{};
  options.qp_type = IBV_QPT_DRIVER;
  options.send_cq = options.recv_cq = ibv_cq_ex_to_cq(cq_);
  options.cap = {16, 16, 2, 1, 32};
  options.pd = pd_;
  EfadvQpOptions efa{};
  qp_ = fabrail_sim_efadv_calls()->create_qp_ex(context_, &options, &efa, sizeof efa);
  ex_ = ibv_qp_to_qp_ex(qp_);
  ibv_qp_attr attributes{};
  attributes.qkey = kQueueKey;
  attributes.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(qp_, &attributes, IBV_QP_STATE | IBV_QP_QKEY), 0);
  mr_ = ibv_reg_mr(pd_, memory_.data(), kBytes,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
}

VerbsEndpoint::~VerbsEndpoint() {
  if (ah_ != nullptr) ibv_destroy_ah(ah_);
  ibv_destroy_qp(qp_);
  ibv_destroy_cq(ibv_cq_ex_to_cq(cq_));
  ibv_dereg_mr(mr_);
  ibv_dealloc_pd(pd_);
  ibv_close_device(context_);
}

Contact VerbsEndpoint::contact() {
  Contact mine{};
  EXPECT_EQ(ibv_query_gid(context_, 1, 0, &mine.gid), 0);
  mine.qpn = qp_->qp_num;
  mine.key = mr_->rkey;
  mine.address = reinterpret_cast<uint64_t>(memory_.data());
  return mine;
}

void VerbsEndpoint::connect(const Contact& peer) {
  peer_ = peer;
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = 1;
  attributes.grh.dgid = peer.gid;
  ah_ = ibv_create_ah(pd_, &attributes);
  ASSERT_NE(ah_, nullptr);
}

void VerbsEndpoint::receive(uint64_t id, uint32_t bytes) {
  ibv_sge segment{reinterpret_cast<uint64_t>(memory_.data()), bytes, mr_->lkey};
  ibv_recv_wr wr{id, nullptr, &segment, 1};
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(qp_, &wr, &bad), 0);
}

void VerbsEndpoint::finish(uint32_t bytes) {
  ibv_wr_set_ud_addr(ex_, ah_, peer_.qpn, kQueueKey);
  ibv_wr_set_sge(ex_, mr_->lkey, reinterpret_cast<uint64_t>(memory_.data()), bytes);
  ASSERT_EQ(ibv_wr_complete(ex_), 0);
}

void VerbsEndpoint::send(uint64_t id, uint32_t bytes) {
  ibv_wr_start(ex_);
  ex_->wr_id = id;
  ibv_wr_send(ex_);
  finish(bytes);
}

void VerbsEndpoint::read(uint64_t id, uint32_t bytes) {
  ibv_wr_start(ex_);
  ex_->wr_id = id;
  ibv_wr_rdma_read(ex_, peer_.key, peer_.address);
  finish(bytes);
}

void VerbsEndpoint::write(uint64_t id, uint32_t bytes, const uint32_t* immediate) {
  ibv_wr_start(ex_);
  ex_->wr_id = id;
  if (immediate != nullptr)
    ibv_wr_rdma_write_imm(ex_, peer_.key, peer_.address, *immediate);
  else
    ibv_wr_rdma_write(ex_, peer_.key, peer_.address);
  finish(bytes);
}

VerbsEndpoint::Event VerbsEndpoint::wait() {
  Event event{};
  ibv_poll_cq_attr attributes{};
  if (!eventually([&] { return ibv_start_poll(cq_, &attributes) == 0; })) {
    ADD_FAILURE() << "no completion";
    return event;
  }
  event = {cq_->status, ibv_wc_read_vendor_err(cq_), ibv_wc_read_opcode(cq_),
           ibv_wc_read_byte_len(cq_), ibv_wc_read_imm_data(cq_)};
  ibv_end_poll(cq_);
  return event;
}

}  // namespace fabrail::sim
