// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Names of the hardware counters, and their text files.
#include "tests/sim/efa/core/counters.h"

namespace fabrail::sim {
namespace {

// No destructor: libfabric closes devices after main, when objects with one are gone.
constexpr CounterFile kFiles[] = {
    {"tx_bytes", Counter::kTxBytes},
    {"tx_pkts", Counter::kTxPackets},
    {"rx_bytes", Counter::kRxBytes},
    {"rx_pkts", Counter::kRxPackets},
    {"rx_drops", Counter::kRxDrops},
    {"send_bytes", Counter::kSendBytes},
    {"send_wrs", Counter::kSendRequests},
    {"recv_bytes", Counter::kRecvBytes},
    {"recv_wrs", Counter::kRecvRequests},
    {"rdma_read_bytes", Counter::kReadBytes},
    {"rdma_read_wrs", Counter::kReadRequests},
    {"rdma_read_wr_err", Counter::kReadErrors},
    {"rdma_read_resp_bytes", Counter::kReadResponseBytes},
    {"rdma_write_bytes", Counter::kWriteBytes},
    {"rdma_write_wrs", Counter::kWriteRequests},
    {"rdma_write_wr_err", Counter::kWriteErrors},
    {"rdma_write_recv_bytes", Counter::kWriteReceivedBytes},
    {"retrans_pkts", Counter::kRetransmittedPackets},
    {"unresponsive_remote_events", Counter::kUnresponsiveEvents},
};

}  // namespace

std::span<const CounterFile> counter_files() { return kFiles; }

void CounterWriter::publish() {
  const std::lock_guard lock(mutex_);
  const auto files = counter_files();
  written_.resize(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    // Again if it moved meanwhile: another process may have shown the newer value before us.
    for (int attempt = 0; attempt < 2; ++attempt) {
      const uint64_t value = counted(device_, files[i].counter);
      if (value == written_[i]) break;
      if (write_text(directory_ + "/" + files[i].name, std::to_string(value) + "\n"))
        written_[i] = value;
    }
  }
}

}  // namespace fabrail::sim
