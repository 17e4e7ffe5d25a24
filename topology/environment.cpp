// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "topology/environment.h"

#include <array>

namespace fabrail::topology {

namespace {

struct Row {
  std::uint8_t advice;  // for types with one of these bits; 0 for all
  Recommendation what;
};

constexpr std::array kRows = {
    // libfabric ends a process that asks for huge pages as well.
    Row{0,
        {"FI_EFA_FORK_SAFE", "1", "programs that fork keep working on kernels before 5.13",
         "FI_EFA_USE_HUGE_PAGE"}},
    Row{kAdviceLargeMessages,
        {"NCCL_BUFFSIZE", "8388608", "buffers large enough for EFA's bandwidth and latency"}},
    Row{kAdviceLargeMessages,
        {"NCCL_P2P_NET_CHUNKSIZE", "524288", "fewer and larger messages in point-to-point calls"}},
    Row{kAdviceNvls,
        {"NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288", "NVLS trees send chunks that fill the network"}},
    Row{kAdviceNvls,
        {"NCCL_NVLS_CHUNKSIZE", "524288", "NVLS works on chunks that fill the network"}},
    Row{kAdviceNvls,
        {"NCCL_NET_FORCE_FLUSH", "0", "this GPU sees the NIC's writes in order without a flush"}},
    Row{kAdviceOneNicPerGpu,
        {"NCCL_NETDEVS_POLICY", "max:1",
         "two GPUs and two devices share a switch: a device for each GPU (NCCL 2.28.3 and newer)"}},
    Row{kAdviceShmCopies,
        {"NCCL_SHM_USE_CUDA_MEMCPY", "1",
         "GPUs without NVLink or peer access copy about twice as "
         "fast through shared memory this way"}},
};

}  // namespace

std::vector<Recommendation> recommended_environment(const InstanceType* instance) {
  std::vector<Recommendation> recommendations;
  if (instance == nullptr) return recommendations;
  for (const Row& row : kRows) {
    if (row.advice == 0 || (instance->advice & row.advice) != 0) {
      recommendations.push_back(row.what);
    }
  }
  return recommendations;
}

}  // namespace fabrail::topology
