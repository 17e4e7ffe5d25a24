// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Both directions between this rank and one other on bare libfabric.
#include "src/cli/perf/raw_link.h"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include "src/cli/common/failure.h"
#include "src/cli/perf/plugin_link.h"

namespace fabrail::cli::perf {
namespace {

constexpr uint64_t kRequestedKey = 1;
constexpr size_t kQueueEntries = 1024;

void check(const char* call, int code) {
  if (code != 0) throw Failure(raw_error(call, code));
}

/// Remote addresses are offsets where the provider does not use virtual ones.
uint64_t remote_base(const fi_info& info, const std::byte* memory) {
  if ((info.domain_attr->mr_mode & FI_MR_VIRT_ADDR) == 0) return 0;
  return reinterpret_cast<uintptr_t>(memory);
}

}  // namespace

RawLink::RawLink(const RawLibrary& library, fi_info& info, size_t capacity)
    : info_(info), capacity_(capacity), buffer_(2 * capacity) {
  open(library);
  register_memory();
}

void RawLink::open(const RawLibrary& library) {
  fabric_.reset(library.open_fabric(info_));
  fid_domain* domain = nullptr;
  check("fi_domain", fi_domain(fabric_.get(), &info_, &domain, nullptr));
  domain_.reset(domain);

  fi_cq_attr queue_attributes{};
  queue_attributes.format = FI_CQ_FORMAT_DATA;
  queue_attributes.wait_obj = FI_WAIT_NONE;
  queue_attributes.size = kQueueEntries;
  fid_cq* queue = nullptr;
  check("fi_cq_open", fi_cq_open(domain, &queue_attributes, &queue, nullptr));
  queue_.reset(queue);

  fi_av_attr address_attributes{};
  address_attributes.type = FI_AV_TABLE;
  fid_av* addresses = nullptr;
  check("fi_av_open", fi_av_open(domain, &address_attributes, &addresses, nullptr));
  addresses_.reset(addresses);

  fid_ep* endpoint = nullptr;
  check("fi_endpoint", fi_endpoint(domain, &info_, &endpoint, nullptr));
  endpoint_.reset(endpoint);
  check("fi_ep_bind", fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV));
  check("fi_ep_bind", fi_ep_bind(endpoint, &addresses->fid, 0));
  check("fi_enable", fi_enable(endpoint));
}

void RawLink::register_memory() {
  fid_mr* memory = nullptr;
  check("fi_mr_reg", fi_mr_reg(domain_.get(), buffer_.data(), buffer_.size(),
                               FI_WRITE | FI_REMOTE_WRITE, 0, kRequestedKey, 0, &memory, nullptr));
  memory_.reset(memory);
  if ((info_.domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) return;
  check("fi_mr_bind", fi_mr_bind(memory, &endpoint_->fid, 0));
  check("fi_mr_enable", fi_mr_enable(memory));
}

RawAddress RawLink::address() const {
  RawAddress address;
  address.name_bytes = address.name.size();
  check("fi_getname", fi_getname(&endpoint_->fid, address.name.data(), &address.name_bytes));
  address.base = remote_base(info_, buffer_.data()) + capacity_;
  address.key = fi_mr_key(memory_.get());
  return address;
}

void RawLink::connect(const RawAddress& peer) {
  remote_ = peer;
  const int inserted = fi_av_insert(addresses_.get(), peer.name.data(), 1, &peer_, 0, nullptr);
  if (inserted != 1) throw Failure(raw_error("fi_av_insert", inserted < 0 ? inserted : -FI_EINVAL));
}

void RawLink::begin(const Plan& plan) {
  plan_ = plan;
  stride_ = stride_of(plan.bytes);
  contexts_.resize(plan.depth);
  posted_sends_ = posted_receives_ = sent_ = received_ = 0;
}

bool RawLink::post_send(uint64_t bytes) {
  if (posted_sends_ - sent_ >= plan_.depth) return false;
  const uint64_t slot = posted_sends_ % plan_.depth;
  const uint64_t offset = slot * stride_;
  const ssize_t code =
      fi_writedata(endpoint_.get(), buffer_.data() + offset, bytes, fi_mr_desc(memory_.get()), slot,
                   peer_, remote_.base + offset, remote_.key, &contexts_[slot]);
  if (code == -FI_EAGAIN) {
    poll();
    return false;
  }
  if (code != 0) throw Failure(raw_error("fi_writedata", code));
  ++posted_sends_;
  return true;
}

bool RawLink::post_receive(uint64_t) {
  ++posted_receives_;
  return true;
}

uint64_t RawLink::sent() {
  if (sent_ < posted_sends_) poll();
  return sent_;
}

uint64_t RawLink::received() {
  poll();
  return received_;
}

void RawLink::poll() {
  std::array<fi_cq_data_entry, 16> entries;
  const ssize_t count = fi_cq_read(queue_.get(), entries.data(), entries.size());
  if (count == -FI_EAGAIN) return;
  if (count < 0) report_error();
  for (ssize_t i = 0; i < count; ++i) {
    const bool from_peer =
        (entries[static_cast<size_t>(i)].flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0;
    ++(from_peer ? received_ : sent_);
  }
}

void RawLink::report_error() const {
  fi_cq_err_entry error{};
  fi_cq_readerr(queue_.get(), &error, 0);
  throw Failure(raw_error("a write", -error.err));
}

}  // namespace fabrail::cli::perf
