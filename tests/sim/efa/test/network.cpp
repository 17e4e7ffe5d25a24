// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// Builds the emulated network that the tests use.
#include "tests/sim/efa/test/network.h"

#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace fabrail::sim {

ScratchDirectory::ScratchDirectory() {
  std::string name = "/dev/shm/fabrail-sim-test-XXXXXX";
  path_ = mkdtemp(name.data()) != nullptr ? name : "";
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Description small_description(const std::string& extra) {
  std::string error;
  const auto description =
      parse_description("generation efa2\nunresponsive_ms 50\nring_bytes 65536\n" + extra +
                            "\nbridge 10 numa -1\nnic 0000:10:1b.0\nnic 0000:10:1c.0\n",
                        error);
  EXPECT_TRUE(description) << error;
  return description.value_or(Description{});
}

Network::Network(const std::string& extra) {
  std::string error;
  fabric_ = Fabric::open(scratch_.path(), small_description(extra), error);
  if (!fabric_) throw std::runtime_error(error);
  for (uint16_t number = 0; number < 2; ++number) {
    nodes_.push_back(Node::open(*fabric_, number, error));
    if (!nodes_.back()) throw std::runtime_error(error);
  }
}

Endpoint::Endpoint(Device& device, const EndpointOptions& options)
    : device_(device), memory_(options.memory_bytes), completions_(4 * options.depth, nullptr) {
  key_ = open_region(device.membership(), device.nic(),
                     {memory_.data(), address(), memory_.size(), kPd,
                      kAccessLocalWrite | kAccessRemoteRead | kAccessRemoteWrite});
  QueuePairOptions wanted;
  wanted.reliable = options.reliable;
  wanted.unsolicited = options.unsolicited;
  wanted.pd = kPd;
  wanted.send_depth = wanted.receive_depth = options.depth;
  wanted.send_completions = wanted.receive_completions = &completions_;
  queue_pair_ = QueuePair::open(device, wanted);
  queue_pair_->set_queue_key(kQueueKey);
  queue_pair_->start_receiving();
}

Endpoint::~Endpoint() {
  queue_pair_.reset();
  close_region(device_.membership(), device_.nic(), key_);
}

void Endpoint::fill(uint8_t seed) {
  for (size_t i = 0; i < memory_.size(); ++i) memory_[i] = pattern(i, seed);
}

int Endpoint::receive(uint64_t id, size_t offset, uint32_t bytes) {
  ReceiveRequest request;
  request.id = id;
  request.segment_count = 1;
  request.segments[0] = segment(offset, bytes);
  return queue_pair_->post_receive(request);
}

bool Endpoint::poll(Completion& completion) {
  const std::lock_guard lock(completions_.poll_mutex);
  if (completions_.pop(completion)) return true;
  completions_.progress();
  return completions_.pop(completion);
}

Completion Endpoint::wait() {
  Completion completion;
  EXPECT_TRUE(eventually([&] { return poll(completion); })) << "no completion";
  return completion;
}

WorkRequest send_request(uint64_t id, const Endpoint& from, uint32_t bytes, const Endpoint& to) {
  WorkRequest request;
  request.id = id;
  request.has_destination = true;
  request.to = to.destination();
  request.bytes = bytes;
  request.segment_count = 1;
  request.segments[0] = from.segment(0, bytes);
  return request;
}

WorkRequest rdma_request(uint64_t id, Operation operation, const Endpoint& from, uint32_t bytes,
                         const Endpoint& to) {
  WorkRequest request = send_request(id, from, bytes, to);
  request.operation = operation;
  request.remote_address = to.address();
  request.remote_key = to.key();
  return request;
}

uint8_t pattern(size_t position, uint8_t seed) {
  return static_cast<uint8_t>(position * 31 + (position >> 8) + seed * 7u);
}

}  // namespace fabrail::sim
