// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Both directions between this rank and one other on bare libfabric: RDMA writes with immediate.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/cli/perf/buffer.h"
#include "src/cli/perf/plan.h"
#include "src/cli/perf/raw_library.h"

namespace fabrail::cli::perf {

/// What the peer needs to write here.
struct RawAddress {
  std::array<std::byte, 256> name{};
  size_t name_bytes = 0;
  uint64_t base = 0;
  uint64_t key = 0;
};

/// Same interface as PluginLink, so that the same patterns run over it. A receive costs nothing
/// here: the peer writes into its slot and the immediate data makes a completion.
class RawLink {
 public:
  /// Opens an endpoint of `info` with memory for `capacity` bytes in each direction.
  RawLink(const RawLibrary& library, fi_info& info, size_t capacity);

  RawAddress address() const;
  void connect(const RawAddress& peer);

  void begin(const Plan& plan);
  bool post_send(uint64_t bytes);
  bool post_receive(uint64_t bytes);
  uint64_t sent();
  uint64_t received();
  uint64_t posted_receives() const { return posted_receives_; }

 private:
  struct Closer {
    template <class T>
    void operator()(T* object) const {
      fi_close(&object->fid);
    }
  };
  template <class T>
  using Owner = std::unique_ptr<T, Closer>;

  void open(const RawLibrary& library);
  void register_memory();
  void poll();
  [[noreturn]] void report_error() const;

  fi_info& info_;
  size_t capacity_;
  Buffer buffer_;  ///< first half is sent from, second half written by the peer
  // Order of opening, so that the destructor closes the endpoint first.
  Owner<fid_fabric> fabric_;
  Owner<fid_domain> domain_;
  Owner<fid_mr> memory_;
  Owner<fid_cq> queue_;
  Owner<fid_av> addresses_;
  Owner<fid_ep> endpoint_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  RawAddress remote_;
  std::vector<fi_context2> contexts_;
  Plan plan_;
  uint64_t stride_ = 0;
  uint64_t posted_sends_ = 0;
  uint64_t posted_receives_ = 0;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

}  // namespace fabrail::cli::perf
