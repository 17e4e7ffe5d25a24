// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// NCCL's calls in one form for all ABI versions: arguments checked, failures reported and turned
// into NCCL's result codes. Nothing thrown leaves here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "include/nccl_net_abi.h"
#include "plugin/device.h"

namespace fabrail::plugin::api {

constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 30;

/// `abi`  the version of the table that NCCL took.
nccl_net_result_t init(nccl_net_log_fn log, int abi);
nccl_net_result_t devices(int* count);

/// The plan of a device, or null and why there is none.
struct Looked {
  const DevicePlan* plan = nullptr;
  nccl_net_result_t result = NCCL_NET_SUCCESS;
};
Looked properties(int dev);

nccl_net_result_t listen(int dev, void* handle, void** listen_comm);
nccl_net_result_t connect(int dev, void* handle, void** send_comm);
nccl_net_result_t accept(void* listen_comm, void** recv_comm);
nccl_net_result_t reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle);
nccl_net_result_t reg_mr_dmabuf(void* comm, void* data, std::size_t size, int type,
                                std::uint64_t offset, int fd, void** mhandle);
nccl_net_result_t dereg_mr(void* comm, void* mhandle);
nccl_net_result_t isend(void* send_comm, void* data, std::size_t size, int tag, void* mhandle,
                        void** request);
nccl_net_result_t irecv(void* recv_comm, int n, void** data, const std::size_t* sizes,
                        const int* tags, void** mhandles, void** request);
nccl_net_result_t iflush(void* recv_comm, int n, void** data, int* sizes, void** mhandles,
                         void** request);
nccl_net_result_t test(void* request, int* done, int* sizes);
nccl_net_result_t close_send(void* send_comm);
nccl_net_result_t close_recv(void* recv_comm);
nccl_net_result_t close_listen(void* listen_comm);

}  // namespace fabrail::plugin::api
