// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Both directions between this rank and one other through the plugin.
#include "src/cli/perf/plugin_link.h"

#include <span>

namespace fabrail::cli::perf {

uint64_t stride_of(uint64_t bytes) {
  const uint64_t unit = bytes >= 4096 ? 4096 : 128;
  return (bytes + unit - 1) / unit * unit;
}

PluginLink::PluginLink(Plugin& plugin, SendComm send, RecvComm recv, Ends ends, size_t capacity,
                       const GpuMemory* gpu)
    : plugin_(plugin),
      ends_(ends),
      send_buffer_(capacity, gpu),
      recv_buffer_(capacity, gpu),
      send_comm_(std::move(send)),
      recv_comm_(std::move(recv)),
      send_registration_(plugin, send_comm_.get(), send_buffer_),
      recv_registration_(plugin, recv_comm_.get(), recv_buffer_) {}

void PluginLink::begin(const Plan& plan, bool checked, bool corrupt) {
  plan_ = plan;
  stride_ = stride_of(plan.bytes);
  checked_ = checked;
  corrupt_ = corrupt;
  filled_ = 0;
  wrong_ = 0;
  receive_bytes_.assign(plan.depth, 0);
  sends_.emplace(plugin_, send_comm_.get(), ends_.mine, plan.depth);
  receives_.emplace(plugin_, recv_comm_.get(), ends_.peer, plan.depth);
}

std::byte* PluginLink::slot(const Buffer& buffer, uint64_t message) const {
  return buffer.data() + message % plan_.depth * stride_;
}

bool PluginLink::post_send(uint64_t bytes) {
  if (!sends_->has_room()) return false;
  if (checked_) fill_next(bytes);
  return sends_->post({slot(send_buffer_, sends_->posted()), bytes, send_registration_.get()});
}

/// Once for each message, however often the plugin says "not now".
void PluginLink::fill_next(uint64_t bytes) {
  const uint64_t message = sends_->posted();
  if (filled_ > message) return;
  const GpuMemory* gpu = send_buffer_.gpu();
  std::byte* const place = slot(send_buffer_, message);
  if (gpu != nullptr) image_.resize(bytes);
  fill(gpu != nullptr ? std::span(image_) : std::span(place, bytes),
       {.from = ends_.mine, .to = ends_.peer, .bytes = bytes, .iteration = message});
  if (gpu != nullptr) gpu->write(place, image_.data(), bytes);
  filled_ = message + 1;
}

bool PluginLink::post_receive(uint64_t bytes) {
  const uint64_t message = receives_->posted();
  if (!receives_->has_room()) return false;
  receive_bytes_[message % plan_.depth] = bytes;
  return receives_->post({slot(recv_buffer_, message), bytes, recv_registration_.get()});
}

// One test a round, of the oldest request, as NCCL's proxy does it: a further one would mostly find
// nothing, at the price of a look at the NIC between a message and its answer.
uint64_t PluginLink::sent() {
  sends_->step();
  return sends_->done();
}

uint64_t PluginLink::received() {
  if (receives_->step()) {
    if (recv_buffer_.gpu() != nullptr) flush(receives_->done() - 1);
    if (checked_) compare(receives_->done() - 1);
  }
  return receives_->done();
}

// Before a kernel may look at it. NCCL does other work meanwhile; the time counts here.
void PluginLink::flush(uint64_t message) {
  const uint64_t bytes = receive_bytes_[message % plan_.depth];
  if (bytes == 0) return;
  void* const request = plugin_.iflush(recv_comm_.get(), slot(recv_buffer_, message), bytes,
                                       recv_registration_.get());
  while (request != nullptr && !plugin_.flushed(request)) continue;
}

std::span<std::byte> PluginLink::received_bytes(uint64_t message) {
  const std::span received(slot(recv_buffer_, message), receive_bytes_[message % plan_.depth]);
  if (recv_buffer_.gpu() == nullptr) return received;
  image_.resize(received.size());
  recv_buffer_.gpu()->read(image_.data(), received.data(), received.size());
  return image_;
}

void PluginLink::compare(uint64_t message) {
  const std::span received = received_bytes(message);
  if (corrupt_ && message == 0 && !received.empty()) received[received.size() / 2] ^= std::byte{1};
  wrong_ += count_wrong(
      received,
      {.from = ends_.peer, .to = ends_.mine, .bytes = received.size(), .iteration = message});
}

void PluginLink::close() {
  send_registration_.close();
  recv_registration_.close();
  send_comm_.close();
  recv_comm_.close();
}

}  // namespace fabrail::cli::perf
