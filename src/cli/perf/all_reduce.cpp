// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Ring all-reduce of float32 over the plugin.
#include "src/cli/perf/all_reduce.h"

#include <algorithm>
#include <new>
#include <span>

#include "src/cli/perf/pattern.h"

namespace fabrail::cli::perf {
namespace {

/// The buffers come from mmap: aligned for float, and of implicit lifetime.
float* floats(std::byte* address) { return std::launder(reinterpret_cast<float*>(address)); }

}  // namespace

std::vector<Edge> AllReduce::edges(int ranks) {
  std::vector<Edge> edges;
  edges.reserve(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) edges.push_back({rank, (rank + 1) % ranks});
  return edges;
}

AllReduce::AllReduce(Plugin& plugin, Connections connections, int rank, int ranks,
                     const std::vector<Plan>& plans)
    : plugin_(plugin),
      rank_(rank),
      ranks_(ranks),
      depth_(plans.front().depth),
      input_(largest_bytes(plans)),
      output_(largest_bytes(plans)),
      scratch_(depth_ * kSliceBytes),
      next_(std::move(connections.sends[static_cast<size_t>(rank)])),
      previous_(std::move(connections.recvs[static_cast<size_t>((rank + ranks - 1) % ranks)])),
      input_registration_(plugin, next_.get(), input_.data(), input_.size()),
      output_send_registration_(plugin, next_.get(), output_.data(), output_.size()),
      output_recv_registration_(plugin, previous_.get(), output_.data(), output_.size()),
      scratch_registration_(plugin, previous_.get(), scratch_.data(), scratch_.size()) {}

void AllReduce::begin(const Plan& plan) {
  elements_ = plan.bytes / sizeof(float);
  layout_.emplace(rank_, ranks_, elements_, kSliceBytes / sizeof(float));
}

void AllReduce::fill(uint64_t iteration) {
  fill_contribution(std::span(floats(input_.data()), elements_), rank_, iteration);
}

void AllReduce::run(Poller& poller) {
  sends_.emplace(plugin_, next_.get(), rank_, depth_);
  receives_.emplace(plugin_, previous_.get(), (rank_ + ranks_ - 1) % ranks_, depth_);
  const uint64_t all = layout_->transfers();
  while (sends_->done() < all || receives_->done() < all) {
    // No short circuit: each kind gets its turn in every round.
    const bool moved = static_cast<int>(post_receive()) + static_cast<int>(finish_receive()) +
                           static_cast<int>(post_send()) + static_cast<int>(finish_send()) >
                       0;
    if (!moved) poller.idle();
  }
}

bool AllReduce::post_receive() {
  const uint64_t transfer = receives_->posted();
  if (transfer == layout_->transfers()) return false;
  if (sends_->done() < layout_->sends_before_receive(transfer)) return false;
  const Extent extent = layout_->received(transfer);
  const size_t bytes = extent.count * sizeof(float);
  if (receives_into_scratch(transfer)) {
    return receives_->post({scratch(transfer), bytes, scratch_registration_.get()});
  }
  return receives_->post(
      {output_.data() + extent.begin * sizeof(float), bytes, output_recv_registration_.get()});
}

bool AllReduce::post_send() {
  const uint64_t transfer = sends_->posted();
  if (transfer == layout_->transfers()) return false;
  if (receives_->done() < layout_->receives_before_send(transfer)) return false;
  const Extent extent = layout_->sent(transfer);
  const bool own = layout_->step_of(transfer) == 0;
  const Buffer& source = own ? input_ : output_;
  return sends_->post({source.data() + extent.begin * sizeof(float), extent.count * sizeof(float),
                       own ? input_registration_.get() : output_send_registration_.get()});
}

bool AllReduce::finish_receive() {
  if (!receives_->step()) return false;
  const uint64_t transfer = receives_->done() - 1;
  if (receives_into_scratch(transfer)) add_received(transfer);
  return true;
}

bool AllReduce::finish_send() { return sends_->step(); }

/// Free again once its receive has been added: with `depth` slots that is before the next use.
std::byte* AllReduce::scratch(uint64_t transfer) const {
  return scratch_.data() + transfer % depth_ * kSliceBytes;
}

void AllReduce::add_received(uint64_t transfer) {
  const Extent extent = layout_->received(transfer);
  const float* const received = floats(scratch(transfer));
  const float* const own = floats(input_.data()) + extent.begin;
  float* const sum = floats(output_.data()) + extent.begin;
  for (size_t i = 0; i < extent.count; ++i) sum[i] = own[i] + received[i];
}

void AllReduce::corrupt() {
  if (elements_ > 0) output_.data()[elements_ / 2 * sizeof(float)] ^= std::byte{1};
}

uint64_t AllReduce::count_wrong(uint64_t iteration) const {
  return count_wrong_sums(std::span(floats(output_.data()), elements_), ranks_, iteration);
}

void AllReduce::close() {
  input_registration_.close();
  output_send_registration_.close();
  output_recv_registration_.close();
  scratch_registration_.close();
  next_.close();
  previous_.close();
}

}  // namespace fabrail::cli::perf
