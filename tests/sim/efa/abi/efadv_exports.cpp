// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// libefa.so.1: the EFA-specific verbs under their public names.
#include <cerrno>

#include "tests/sim/efa/abi/efadv_types.h"
#include "tests/sim/efa/abi/exports.h"

using namespace fabrail::sim;

namespace {

const EfadvCalls& calls() { return *fabrail_sim_efadv_calls(); }

}  // namespace

FR_SIM_EXPORT ibv_qp* efadv_create_driver_qp(ibv_pd* pd, ibv_qp_init_attr* attributes,
                                             uint32_t type) {
  return calls().create_driver_qp(pd, attributes, type);
}

FR_SIM_EXPORT ibv_qp* efadv_create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes,
                                         EfadvQpOptions* options, uint32_t bytes) {
  return calls().create_qp_ex(context, attributes, options, bytes);
}

FR_SIM_EXPORT int efadv_query_device(ibv_context* context, EfadvDeviceAttributes* attributes,
                                     uint32_t bytes) {
  return calls().query_device(context, attributes, bytes);
}

FR_SIM_EXPORT int efadv_query_ah(ibv_ah* ah, EfadvAhAttributes* attributes, uint32_t bytes) {
  return calls().query_ah(ah, attributes, bytes);
}

FR_SIM_EXPORT ibv_cq_ex* efadv_create_cq(ibv_context* context, ibv_cq_init_attr_ex* attributes,
                                         EfadvCqOptions* options, uint32_t bytes) {
  return calls().create_cq(context, attributes, options, bytes);
}

FR_SIM_EXPORT EfadvCq* efadv_cq_from_ibv_cq_ex(ibv_cq_ex* cq) {
  return calls().cq_from_ibv_cq_ex(cq);
}

FR_SIM_EXPORT int efadv_query_mr(ibv_mr* mr, EfadvMrAttributes* attributes, uint32_t bytes) {
  return calls().query_mr(mr, attributes, bytes);
}

// There are no hardware queues to map; libfabric then takes the ordinary path.
FR_SIM_EXPORT int efadv_query_qp_wqs(ibv_qp*, void*, void*, uint32_t) { return EOPNOTSUPP; }
FR_SIM_EXPORT int efadv_query_cq(ibv_cq*, void*, uint32_t) { return EOPNOTSUPP; }

FR_SIM_EXPORT int efadv_get_max_sq_depth(ibv_context* context, void*, uint32_t) {
  return calls().max_send_depth(context);
}

FR_SIM_EXPORT int efadv_get_max_rq_depth(ibv_context* context, void*, uint32_t) {
  return calls().max_receive_depth(context);
}

FR_SIM_EXPORT EfadvQp* efadv_qp_from_ibv_qp_ex(ibv_qp_ex* qp) {
  return calls().qp_from_ibv_qp_ex(qp);
}
