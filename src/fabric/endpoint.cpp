// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/fabric/endpoint.h"

#include <arpa/inet.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <optional>
#include <string_view>

#include "src/fabric/compat.h"

namespace fabrail::fabric {

namespace {

// Deep enough that peers' writes do not overrun it while a thread is away for a moment.
constexpr std::size_t kCqEntries = 8192;
constexpr std::size_t kLongestAddress = 512;

// libfabric's constructors return an object through a pointer to a raw pointer.
template <typename T, typename Open>
int open_fid(Fid<T>& owner, Open&& open) {
  T* object = nullptr;
  const int rc = open(&object);
  if (rc == 0) owner.reset(object);
  return rc;
}

}  // namespace

Error Endpoint::failure(const char* call, std::int64_t rc) const {
  return make_error(Code::kSystem, static_cast<int>(-rc), "%s on NIC %s (%s) failed: %s", call,
                    nic_->name.c_str(), nic_->provider.c_str(),
                    fabric::error_text(*library_, rc).c_str());
}

Result<Endpoint> Endpoint::open(const Library& library, const Nic& nic) {
  Endpoint endpoint;
  endpoint.library_ = &library;
  endpoint.nic_ = &nic;
  FR_TRY(endpoint.open_objects());
  FR_TRY(endpoint.name_shared_memory());
  FR_TRY(endpoint.enable());
  FR_TRY(endpoint.learn_address());
  if (endpoint.caps().emulates_rdma) endpoint.learn_rdma();
  return endpoint;
}

Status Endpoint::open_objects() {
  fi_info* info = nic_->info.get();
  int rc = open_fid(
      fabric_, [&](fid_fabric** out) { return library_->fabric(info->fabric_attr, out, nullptr); });
  if (rc != 0) return failure("fi_fabric", rc);
  rc = open_fid(domain_,
                [&](fid_domain** out) { return fi_domain(fabric_.get(), info, out, nullptr); });
  if (rc != 0) return failure("fi_domain", rc);
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  rc = open_fid(av_, [&](fid_av** out) { return fi_av_open(domain_.get(), &av, out, nullptr); });
  if (rc != 0) return failure("fi_av_open", rc);
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_DATA;
  cq.size = kCqEntries;
  rc = open_fid(cq_, [&](fid_cq** out) { return fi_cq_open(domain_.get(), &cq, out, nullptr); });
  if (rc != 0) return failure("fi_cq_open", rc);
  fi_eq_attr eq{};
  eq.wait_obj = FI_WAIT_NONE;
  if (caps().reports_events)
    rc = open_fid(eq_, [&](fid_eq** out) { return fi_eq_open(fabric_.get(), &eq, out, nullptr); });
  if (rc != 0) return failure("fi_eq_open", rc);
  fi_cntr_attr sent{};
  sent.events = FI_CNTR_EVENTS_COMP;
  sent.wait_obj = FI_WAIT_NONE;
  if (caps().resends_in_software)
    rc = open_fid(sent_,
                  [&](fid_cntr** out) { return fi_cntr_open(domain_.get(), &sent, out, nullptr); });
  if (rc != 0) return failure("fi_cntr_open", rc);
  rc = open_fid(ep_, [&](fid_ep** out) { return fi_endpoint(domain_.get(), info, out, nullptr); });
  if (rc != 0) return failure("fi_endpoint", rc);
  return {};
}

// The provider's own names are made of the process number: one that a killed process left behind
// would refuse us.
Status Endpoint::name_shared_memory() {
  if (caps().segments != Segments::kOurNames) return {};
  std::uint32_t salt = 0;
  if (getrandom(&salt, sizeof salt, GRND_NONBLOCK) != sizeof salt)
    salt = static_cast<std::uint32_t>(time(nullptr));
  char name[48];
  const int length = std::snprintf(name, sizeof name, "fi_shm://fabrail-%d-%08x", getpid(), salt);
  const int rc = fi_setname(&ep_->fid, name, static_cast<std::size_t>(length) + 1);
  if (rc != 0) return failure("fi_setname", rc);
  return {};
}

namespace {

constexpr std::string_view kShmPrefix = "fi_shm://";

// EFA's address: 16 bytes of GID, the queue pair in 2, 2 of nothing, its key in 4.
std::string efa_segment_name(std::span<const std::byte> address) {
  constexpr std::size_t kQpAt = 16;
  constexpr std::size_t kKeyAt = 20;
  std::uint16_t qp = 0;
  std::uint32_t key = 0;
  char gid[INET6_ADDRSTRLEN];
  if (address.size() < kKeyAt + sizeof key ||
      inet_ntop(AF_INET6, address.data(), gid, sizeof gid) == nullptr) {
    return {};
  }
  std::memcpy(&qp, &address[kQpAt], sizeof qp);
  std::memcpy(&key, &address[kKeyAt], sizeof key);
  char name[INET6_ADDRSTRLEN + 32];
  std::snprintf(name, sizeof name, "%s_%04x_%08x_%04x", gid, qp, key, getuid());
  return name;
}

std::string segment_name(Segments segments, std::span<const std::byte> address) {
  if (segments == Segments::kAfterAddress) return efa_segment_name(address);
  const bool terminated = !address.empty() && address.back() == std::byte{0};
  if (segments == Segments::kNone || address.size() <= kShmPrefix.size() || !terminated) return {};
  return reinterpret_cast<const char*>(address.data()) + kShmPrefix.size();
}

}  // namespace

void Endpoint::unlink_shared_memory() const noexcept {
  try {
    const std::string name = segment_name(caps().segments, address_);
    if (!name.empty()) shm_unlink(name.c_str());
  } catch (const std::bad_alloc&) {
    return;  // then it stays
  }
}

Status Endpoint::enable() {
  if (const int rc = fi_ep_bind(ep_.get(), &av_->fid, 0); rc != 0) return failure("fi_ep_bind", rc);
  const int bound = fi_ep_bind(ep_.get(), &cq_->fid, FI_TRANSMIT | FI_RECV);
  if (bound != 0) return failure("fi_ep_bind", bound);
  const int heard = eq_ ? fi_ep_bind(ep_.get(), &eq_->fid, 0) : 0;
  if (heard != 0) return failure("fi_ep_bind", heard);
  const int counted = sent_ ? fi_ep_bind(ep_.get(), &sent_->fid, FI_SEND) : 0;
  if (counted != 0) return failure("fi_ep_bind", counted);
  if (nic_->device_memory_wanted) promises_ = ask_promises(*ep_, nic_->provider);
  const int rc = fi_enable(ep_.get());
  if (rc == 0) return {};
  // What EFA's provider of libfabric 1.17 gave back before it failed, closing would give back
  // again.
  static_cast<void>(ep_.release());
  return failure("fi_enable", rc);
}

// EFA's provider says what it emulates. Before 1.22 it could not: then it emulates every write (in
// fact it stopped in 1.18), and reads depend on the NIC and on a switch.
void Endpoint::learn_rdma() {
  const auto emulates = [&](int option) -> std::optional<bool> {
    bool value = false;
    std::size_t bytes = sizeof value;
    if (fi_getopt(&ep_->fid, FI_OPT_ENDPOINT, option, &value, &bytes) != 0) return std::nullopt;
    return value;
  };
  writes_natively_ = !emulates(compat::kOptEfaEmulatedWrite).value_or(true);
  reads_natively_ = !emulates(compat::kOptEfaEmulatedRead).value_or(!nic_->reads_by_default);
}

Status Endpoint::learn_address() {
  std::byte address[kLongestAddress];
  std::size_t bytes = sizeof address;
  if (const int rc = fi_getname(&ep_->fid, address, &bytes); rc != 0)
    return failure("fi_getname", rc);
  address_.assign(address, address + bytes);
  return {};
}

Result<fi_addr_t> Endpoint::insert(std::span<const std::byte> address) {
  fi_addr_t inserted = FI_ADDR_NOTAVAIL;
  const int count = fi_av_insert(av_.get(), address.data(), 1, &inserted, 0, nullptr);
  if (count == 1 && inserted != FI_ADDR_NOTAVAIL) return inserted;
  return failure("fi_av_insert", count < 0 ? count : -FI_EINVAL);
}

void Endpoint::remove(fi_addr_t address) { fi_av_remove(av_.get(), &address, 1, 0); }

std::string Endpoint::address_text(std::span<const std::byte> address) const {
  char text[kLongestAddress];
  std::size_t bytes = sizeof text;
  // The provider reads as many bytes as its format has: never hand it a shorter address.
  std::byte padded[kLongestAddress] = {};
  std::memcpy(padded, address.data(), std::min(address.size(), sizeof padded - 1));
  fi_av_straddr(av_.get(), padded, text, &bytes);
  return std::string(text, strnlen(text, sizeof text));
}

bool Endpoint::read_error(fi_cq_err_entry& entry) {
  entry = {};
  return fi_cq_readerr(cq_.get(), &entry, 0) == 1;
}

bool Endpoint::is_gone(const fi_cq_err_entry& entry) const {
  return caps().gone_code == 0 || entry.prov_errno == caps().gone_code;
}

std::optional<Error> Endpoint::take_event() {
  fi_eq_err_entry entry{};
  if (!eq_ || fi_eq_readerr(eq_.get(), &entry, 0) <= 0) return std::nullopt;
  // Numbered as failed operations are, and only the completion queue knows EFA's texts.
  fi_cq_err_entry failed{};
  failed.err = entry.err;
  failed.prov_errno = entry.prov_errno;
  return make_error(Code::kSystem, entry.err, "NIC %s (%s): %s", nic_->name.c_str(),
                    nic_->provider.c_str(), error_text(failed).c_str());
}

std::string Endpoint::error_text(const fi_cq_err_entry& entry) const {
  char text[256] = {};
  const char* provider =
      fi_cq_strerror(cq_.get(), entry.prov_errno, entry.err_data, text, sizeof text);
  std::string result = fabric::error_text(*library_, entry.err);
  if (provider != nullptr && provider[0] != '\0' && result != provider) {
    result +=
        std::string(" (provider code ") + std::to_string(entry.prov_errno) + ": " + provider + ")";
  }
  return result;
}

}  // namespace fabrail::fabric
