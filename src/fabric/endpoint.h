// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One NIC opened for traffic: domain, address vector, completion queue and RDM endpoint.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rdma/fi_eq.h>

#include "src/fabric/fid.h"
#include "src/fabric/nic.h"
#include "src/fabric/promises.h"

namespace fabrail::fabric {

/// What is registered on a NIC, for the message that says why no more can be. Regions come and go
/// on any thread and nothing else hangs on these numbers, so they need no lock.
struct LiveRegions {
  std::atomic<std::uint64_t> count = 0;
  std::atomic<std::uint64_t> bytes = 0;
};

/// A NIC's RDM endpoint with its own domain, address vector and completion queue.
///
/// Thread  posting and polling: the engine's mutex. Registration in its domain: any thread.
class Endpoint {
 public:
  /// Opens `nic`, which must outlive the endpoint.
  ///
  /// Errors  kSystem, naming the NIC and libfabric's reason.   Source  fi_endpoint(3), fi_cq(3),
  /// fi_av(3).
  static Result<Endpoint> open(const Library& library, const Nic& nic);

  /// Removes what the endpoint leaves in /dev/shm if the process ends without closing it. Peers
  /// that are connected keep their mapping.
  void unlink_shared_memory() const noexcept;

  /// Closes the endpoint alone, so that buffers can go before the domain does.
  void close() { ep_.reset(); }

  [[nodiscard]] fid_ep* ep() const { return ep_.get(); }
  [[nodiscard]] fid_domain* domain() const { return domain_.get(); }
  [[nodiscard]] const Nic& nic() const { return *nic_; }
  [[nodiscard]] const ProviderCaps& caps() const { return nic_->caps; }
  [[nodiscard]] const Library& library() const { return *library_; }
  /// Asked only where device memory is wanted.
  [[nodiscard]] const Promises& promises() const { return promises_; }
  [[nodiscard]] LiveRegions& live_regions() const { return *live_regions_; }

  /// Whether the NIC moves the bytes of a write, or a read, between memories by itself. Where
  /// libfabric emulates it, it goes on only while the other side calls libfabric.
  [[nodiscard]] bool writes_natively() const { return writes_natively_; }
  [[nodiscard]] bool reads_natively() const { return reads_natively_; }

  /// Where peers reach this endpoint, in the provider's own format.
  [[nodiscard]] std::span<const std::byte> address() const { return address_; }

  /// Makes a peer's address usable on this endpoint.
  Result<fi_addr_t> insert(std::span<const std::byte> address);
  /// Forgets a peer; the provider drops its connection to it, if it has one.
  void remove(fi_addr_t address);
  /// A peer's address as people read it.
  [[nodiscard]] std::string address_text(std::span<const std::byte> address) const;

  /// Takes up to entries.size() completions. Returns their number, -FI_EAGAIN for none, -FI_EAVAIL
  /// if read_error() has one, or another negative fi_errno.
  [[nodiscard]] std::int64_t poll(std::span<fi_cq_data_entry> entries) {
    return fi_cq_read(cq_.get(), entries.data(), entries.size());
  }
  /// Messages of this endpoint, injected ones included, that their receiver's NIC has taken, or
  /// that failed. Counted only where the provider sends again in software.
  [[nodiscard]] std::uint64_t finished_messages() const {
    return fi_cntr_read(sent_.get()) + fi_cntr_readerr(sent_.get());
  }
  /// Takes the failed operation that poll() announced; false if there is none.
  bool read_error(fi_cq_err_entry& entry);
  /// Whether the operation failed because nobody is there any more. True where the provider does
  /// not say.
  [[nodiscard]] bool is_gone(const fi_cq_err_entry& entry) const;
  /// Takes what befell the endpoint and no operation of ours, if anything did; the reason.
  std::optional<Error> take_event();
  /// The provider's text for a failed operation.
  [[nodiscard]] std::string error_text(const fi_cq_err_entry& entry) const;

 private:
  Endpoint() = default;
  Status open_objects();
  Status name_shared_memory();
  Status enable();
  Status learn_address();
  void learn_rdma();
  [[nodiscard]] Error failure(const char* call, std::int64_t rc) const;

  const Library* library_ = nullptr;
  const Nic* nic_ = nullptr;
  std::unique_ptr<LiveRegions> live_regions_ = std::make_unique<LiveRegions>();
  Promises promises_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  Fid<fid_eq> eq_;      // only where the provider reports events
  Fid<fid_cntr> sent_;  // only where the provider sends again in software
  Fid<fid_ep> ep_;
  std::vector<std::byte> address_;
  bool writes_natively_ = true;
  bool reads_natively_ = true;
};

}  // namespace fabrail::fabric
