// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
// A small emulated network for tests: two nodes in one process, and endpoints on their NICs.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/efa/core/node.h"
#include "tests/sim/efa/core/queue_pair.h"

namespace fabrail::sim {

/// A directory on tmpfs that goes away with the object.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Two NICs of generation efa2 on one root bus; `extra` are more lines of description.
Description small_description(const std::string& extra = "");

/// Polls `done` until it is true; false after half a minute.
template <typename Condition>
bool eventually(Condition done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class Network {
 public:
  explicit Network(const std::string& extra = "");
  Fabric& fabric() { return *fabric_; }
  Device& device(size_t node, size_t nic = 0) { return *nodes_[node]->devices()[nic]; }
  DeviceState& state(size_t node, size_t nic = 0) { return *device(node, nic).nic().state; }

 private:
  ScratchDirectory scratch_;
  std::unique_ptr<Fabric> fabric_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

struct EndpointOptions {
  bool reliable = true;
  bool unsolicited = false;
  uint32_t depth = 256;
  size_t memory_bytes = 64 << 10;
};

/// A queue pair with a completion queue and registered memory of its own.
class Endpoint {
 public:
  explicit Endpoint(Device& device, const EndpointOptions& options = {});
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  static constexpr uint32_t kQueueKey = 77;
  static constexpr uint32_t kPd = 5;

  QueuePair& queue_pair() { return *queue_pair_; }
  CompletionQueue& completions() { return completions_; }
  std::vector<uint8_t>& memory() { return memory_; }
  uint64_t address(size_t offset = 0) const {
    return reinterpret_cast<uint64_t>(memory_.data() + offset);
  }
  uint32_t key() const { return key_; }
  Segment segment(size_t offset, uint32_t bytes) const { return {address(offset), bytes, key_}; }
  Destination destination() const {
    return {device_.nic().address, queue_pair_->number(), kQueueKey};
  }
  void fill(uint8_t seed);

  int receive(uint64_t id, size_t offset, uint32_t bytes);
  int post(const WorkRequest& request) { return queue_pair_->post_send({&request, 1}); }
  bool poll(Completion& completion);
  /// The next completion; a test failure if none comes.
  Completion wait();
  /// Closes the queue pair before the rest.
  void close() { queue_pair_.reset(); }

 private:
  Device& device_;
  std::vector<uint8_t> memory_;
  CompletionQueue completions_;
  uint32_t key_;
  std::unique_ptr<QueuePair> queue_pair_;
};

WorkRequest send_request(uint64_t id, const Endpoint& from, uint32_t bytes, const Endpoint& to);
WorkRequest rdma_request(uint64_t id, Operation operation, const Endpoint& from, uint32_t bytes,
                         const Endpoint& to);

/// Bytes that differ from position to position and from seed to seed.
uint8_t pattern(size_t position, uint8_t seed);

}  // namespace fabrail::sim
