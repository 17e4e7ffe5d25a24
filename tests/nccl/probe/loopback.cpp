// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One thread plays both ends, as NCCL does where it tries a network on itself.
#include "tests/nccl/probe/loopback.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "tests/nccl/probe/net_table.h"

namespace fabrail::nccl_test {
namespace {

constexpr int kBufferBytes = 2 << 20;
constexpr int kTag = 7;

/// Ends a loop that polls: a network that never answers is a failure, not a hang.
class Deadline {
 public:
  void check_not_passed(const char* what) const {
    if (std::chrono::steady_clock::now() > end_) {
      throw std::runtime_error(std::string(what) + " took more than 60 s");
    }
  }

 private:
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
};

template <class Net>
class Loop {
 public:
  explicit Loop(NetCalls<Net> calls) : calls_(calls) { connect(); }

  void send_all() {
    void* send_region = calls_.reg_mr(send_, sent_.data(), kBufferBytes);
    void* recv_region = calls_.reg_mr(recv_, received_.data(), kBufferBytes);
    int message = 0;
    for (int bytes : loopback_sizes()) {
      prepare(++message, bytes);
      exchange(bytes, send_region, recv_region);
      compare(bytes);
    }
    check(calls_.net.dereg_mr(send_, send_region), "deregMr");
    check(calls_.net.dereg_mr(recv_, recv_region), "deregMr");
  }

  void close() {
    check(calls_.net.close_send(send_), "closeSend");
    check(calls_.net.close_recv(recv_), "closeRecv");
  }

 private:
  void connect() {
    std::array<char, NCCL_NET_HANDLE_BYTES> handle{};
    void* listener = calls_.listen(0, handle.data());
    const Deadline deadline;
    while (send_ == nullptr || recv_ == nullptr) {
      if (send_ == nullptr) send_ = calls_.connect(0, handle.data());
      if (recv_ == nullptr) recv_ = calls_.accept(listener);
      deadline.check_not_passed("connecting");
    }
    check(calls_.net.close_listen(listener), "closeListen");
  }

  // The bytes depend on the message, so that one that arrives twice or late is noticed.
  void prepare(int message, int bytes) {
    std::iota(sent_.begin(), sent_.begin() + bytes, static_cast<unsigned char>(message * 17));
    std::fill(sent_.begin() + bytes, sent_.end(), 0);
    std::fill(received_.begin(), received_.end(), 0);
  }

  void exchange(int bytes, void* send_region, void* recv_region) {
    void* sending = nullptr;
    void* receiving = nullptr;
    bool sent = false;
    bool received = false;
    const Deadline deadline;
    while (!sent || !received) {
      if (receiving == nullptr) {
        receiving = calls_.irecv(recv_, received_.data(), kBufferBytes, kTag, recv_region);
      }
      if (sending == nullptr) {
        sending = calls_.isend(send_, sent_.data(), bytes, kTag, send_region);
      }
      if (!sent && sending != nullptr) sent = done(sending, bytes);
      if (!received && receiving != nullptr) received = done(receiving, bytes);
      deadline.check_not_passed("a message");
    }
  }

  bool done(void* request, int bytes) {
    int is_done = -1;
    int size = 0;
    check(calls_.net.test(request, &is_done, &size), "test");
    if (is_done != 0 && is_done != 1) throw std::runtime_error("test did not write done");
    if (is_done == 1 && size != bytes) {
      throw std::runtime_error("test said " + std::to_string(size) + " of " +
                               std::to_string(bytes) + " bytes");
    }
    return is_done == 1;
  }

  // The whole buffer: what lies behind the message must still be zero.
  void compare(int bytes) {
    const auto difference = std::mismatch(sent_.begin(), sent_.end(), received_.begin());
    if (difference.first == sent_.end()) return;
    throw std::runtime_error("byte " + std::to_string(difference.first - sent_.begin()) +
                             " of a message of " + std::to_string(bytes) + " is wrong");
  }

  NetCalls<Net> calls_;
  void* send_ = nullptr;
  void* recv_ = nullptr;
  std::vector<unsigned char> sent_ = std::vector<unsigned char>(kBufferBytes);
  std::vector<unsigned char> received_ = std::vector<unsigned char>(kBufferBytes);
};

}  // namespace

const std::vector<int>& loopback_sizes() {
  static const std::vector<int> sizes = {0, 1, 4096, 614400, (1 << 20) + 3};
  return sizes;
}

void loop_back(int abi, const void* table, void* context) {
  with_table(abi, table, [&](const auto& net) {
    Loop loop(NetCalls<std::decay_t<decltype(net)>>{net, context});
    loop.send_all();
    loop.close();
  });
}

}  // namespace fabrail::nccl_test
