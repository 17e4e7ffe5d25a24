// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// A queue pair of an emulated device, driven through the verbs that libfabric calls.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabrail::sim {

constexpr size_t kBytes = 4 << 20;
/// What two processes tell each other beforehand.
struct Contact {
  ibv_gid gid;
  uint32_t qpn;
  uint32_t key;
  uint64_t address;
};

/// A queue pair with all that it needs, on the first device.
class VerbsEndpoint {
 public:
  VerbsEndpoint();
  ~VerbsEndpoint();
  VerbsEndpoint(const VerbsEndpoint&) = delete;
  VerbsEndpoint& operator=(const VerbsEndpoint&) = delete;

  Contact contact();
  void connect(const Contact& peer);
  uint8_t* memory() { return memory_.data(); }
  ibv_context* context() { return context_; }
  ibv_pd* pd() { return pd_; }

  void receive(uint64_t id, uint32_t bytes);
  void send(uint64_t id, uint32_t bytes);
  void read(uint64_t id, uint32_t bytes);
  void write(uint64_t id, uint32_t bytes, const uint32_t* immediate);
  struct Event {
    ibv_wc_status status;
    uint32_t vendor;
    ibv_wc_opcode opcode;
    uint32_t bytes;
    uint32_t immediate;
  };
  Event wait();

 private:
  void finish(uint32_t bytes);

  std::vector<uint8_t> memory_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq_ex* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_qp_ex* ex_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_ah* ah_ = nullptr;
  Contact peer_{};
};

}  // namespace fabrail::sim
