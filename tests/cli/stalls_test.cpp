// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// `fabrail stalls`, asking this very process, which uses the plugin as NCCL does.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "include/nccl_net_abi.h"
#include "tests/cli/command.h"

namespace fabrail::test {
namespace {

void ignore_line(nccl_net_log_level_t, unsigned long, const char*, int, const char*, ...) {}

/// The plugin's v8 table, initialised; on loopback, with two devices that are the same.
const nccl_net_v8_t& net() {
  static const nccl_net_v8_t* const table = [] {
    setenv("FABRAIL_PROVIDER", "tcp", 1);
    setenv("FABRAIL_NICS", "lo", 1);
    setenv("FI_TCP_IFACE", "lo", 1);
    void* library = dlopen(FABRAIL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    auto* found = static_cast<nccl_net_v8_t*>(dlsym(library, "ncclNetPlugin_v8"));
    EXPECT_EQ(found->init(ignore_line), NCCL_NET_SUCCESS);
    return found;
  }();
  return *table;
}

/// A connection within this process on which one receive waits for ever.
class WaitingReceive {
 public:
  WaitingReceive() {
    std::array<std::byte, NCCL_NET_HANDLE_BYTES> handle{};
    void* listener = nullptr;
    EXPECT_EQ(net().listen(0, handle.data(), &listener), NCCL_NET_SUCCESS);
    while (send_ == nullptr || recv_ == nullptr) {
      if (send_ == nullptr) net().connect(0, handle.data(), &send_, nullptr);
      if (recv_ == nullptr) net().accept(listener, &recv_, nullptr);
    }
    net().close_listen(listener);
    void* data = memory_.data();
    int size = static_cast<int>(memory_.size());
    int tag = 7;
    EXPECT_EQ(net().reg_mr(recv_, data, memory_.size(), NCCL_NET_PTR_HOST, &mr_), NCCL_NET_SUCCESS);
    EXPECT_EQ(net().irecv(recv_, 1, &data, &size, &tag, &mr_, &request_), NCCL_NET_SUCCESS);
  }
  ~WaitingReceive() {
    net().dereg_mr(recv_, mr_);
    net().close_send(send_);
    net().close_recv(recv_);
  }
  void test() {
    int done = 0;
    EXPECT_EQ(net().test(request_, &done, nullptr), NCCL_NET_SUCCESS);
    EXPECT_EQ(done, 0);
  }

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(1 << 20);
  void* send_ = nullptr;
  void* recv_ = nullptr;
  void* mr_ = nullptr;
  void* request_ = nullptr;
};

Outcome ask(const std::string& pid, const std::string& wait) {
  return run({FABRAIL_COMMAND, "stalls", pid, "--wait", wait});
}

TEST(Stalls, ShowsWhatAProcessWaitsFor) {
  WaitingReceive waiting;
  std::atomic<bool> answered{false};
  std::thread nccl([&] {
    while (!answered) waiting.test();
  });
  const Outcome first = ask(std::to_string(getpid()), "60");
  const Outcome second = ask(std::to_string(getpid()), "60");
  answered = true;
  nccl.join();
  for (const Outcome& outcome : {first, second}) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("device 0 (lo): 1 send and 1 receive communicators, 0 listeners"),
              std::string::npos)
        << outcome.out;
    EXPECT_NE(outcome.out.find("waits for the peer to send message 0 (tag 7): nothing of it"),
              std::string::npos)
        << outcome.out;
  }
}

TEST(Stalls, SaysWhenNcclDoesNotCall) {
  WaitingReceive waiting;
  const Outcome outcome = ask(std::to_string(getpid()), "0.1");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.out.find("device 0: no answer within 0.1 s"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("NCCL does not wait for the network"), std::string::npos);
}

TEST(Stalls, OfAProcessWithoutThePluginSaysSo) {
  const Outcome outcome = ask(std::to_string(getppid()), "1");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err, "");
  EXPECT_EQ(ask("999999999", "1").exit_code, 2) << "there is no such process";
}

}  // namespace
}  // namespace fabrail::test
