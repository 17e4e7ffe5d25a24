// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// libibverbs: names, fork state, what the device does not have, and what librdmacm wants to find
// when it is loaded.
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/sim/efa/abi/exports.h"
#include "tests/sim/efa/core/shared_file.h"

namespace {
std::atomic<bool> fork_initialized{false};
}

FR_SIM_EXPORT int ibv_fork_init() {
  fork_initialized = true;
  return 0;
}

/// Registered memory is not pinned here, so forking never hurts it. Programs that are to go the way
/// that they would go on a kernel before 5.13 are told otherwise.
FR_SIM_EXPORT ibv_fork_status ibv_is_fork_initialized() {
  if (std::getenv("FABRAIL_SIM_OLD_KERNEL") == nullptr) return IBV_FORK_UNNEEDED;
  return fork_initialized ? IBV_FORK_ENABLED : IBV_FORK_DISABLED;
}

FR_SIM_EXPORT const char* ibv_wc_status_str(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return "success";
    case IBV_WC_WR_FLUSH_ERR:
      return "flushed: the queue pair failed or closed";
    case IBV_WC_LOC_QP_OP_ERR:
      return "refused by the local queue pair";
    case IBV_WC_LOC_PROT_ERR:
      return "local memory key is not valid";
    case IBV_WC_LOC_LEN_ERR:
      return "local buffer has the wrong length";
    case IBV_WC_REM_ACCESS_ERR:
      return "remote memory key or address is not valid";
    case IBV_WC_REM_ABORT_ERR:
      return "aborted by the receiver";
    case IBV_WC_REM_INV_RD_REQ_ERR:
      return "no such remote queue pair";
    case IBV_WC_REM_INV_REQ_ERR:
      return "message longer than the receiver's buffer";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "receiver has no buffer posted";
    case IBV_WC_BAD_RESP_ERR:
      return "unexpected answer from the receiver";
    case IBV_WC_RESP_TIMEOUT_ERR:
      return "no answer from the receiver";
    default:
      return "failed";
  }
}

FR_SIM_EXPORT const char* ibv_node_type_str(ibv_node_type) { return "unspecified"; }

FR_SIM_EXPORT const char* ibv_port_state_str(ibv_port_state state) {
  return state == IBV_PORT_ACTIVE ? "PORT_ACTIVE" : "PORT_DOWN";
}

FR_SIM_EXPORT const char* ibv_event_type_str(ibv_event_type event) {
  switch (event) {
    case IBV_EVENT_PORT_ACTIVE:
      return "port active";
    case IBV_EVENT_PORT_ERR:
      return "port error";
    case IBV_EVENT_DEVICE_FATAL:
      return "local catastrophic error";
    case IBV_EVENT_CQ_ERR:
      return "CQ error";
    default:
      return "unknown";
  }
}

FR_SIM_EXPORT ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) {
  errno = EOPNOTSUPP;
  return nullptr;
}

FR_SIM_EXPORT int ibv_destroy_srq(ibv_srq*) { return EOPNOTSUPP; }
FR_SIM_EXPORT int ibv_attach_mcast(ibv_qp*, const ibv_gid*, uint16_t) { return EOPNOTSUPP; }
FR_SIM_EXPORT int ibv_detach_mcast(ibv_qp*, const ibv_gid*, uint16_t) { return EOPNOTSUPP; }
FR_SIM_EXPORT int ibv_query_ece(ibv_qp*, ibv_ece*) { return EOPNOTSUPP; }
FR_SIM_EXPORT int ibv_set_ece(ibv_qp*, ibv_ece*) { return EOPNOTSUPP; }

FR_SIM_EXPORT const char* ibv_get_sysfs_path() {
  const char* path = std::getenv("SYSFS_PATH");
  return path != nullptr ? path : "/sys";
}

FR_SIM_EXPORT int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer,
                                      size_t bytes) {
  std::string text = fabrail::sim::read_text(std::string(directory) + "/" + file);
  if (text.empty()) return -1;
  if (text.back() == '\n') text.pop_back();
  if (text.size() > bytes) return -1;
  std::memcpy(buffer, text.data(), text.size());
  if (text.size() < bytes) buffer[text.size()] = '\0';
  return static_cast<int>(text.size());
}

// librdmacm calls these for addresses that a kernel gave it; there is no kernel here, and no
// connection manager.
FR_SIM_EXPORT void ibv_copy_ah_attr_from_kern() {}
FR_SIM_EXPORT void ibv_copy_qp_attr_from_kern() {}
FR_SIM_EXPORT void ibv_copy_path_rec_from_kern() {}
