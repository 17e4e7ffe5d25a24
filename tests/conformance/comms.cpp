// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Listening, connecting and accepting by polling.
#include "tests/conformance/comms.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/conformance/device.h"
#include "tests/conformance/options.h"

namespace fabrail::conformance {
namespace {

// Neither NULL nor a comm: shows whether a call wrote its argument.
std::byte unwritten_marker;
void* unwritten() { return &unwritten_marker; }

PollResult checked(const char* call, Result result, void* comm) {
  EXPECT_NE(result, NCCL_NET_IN_PROGRESS) << call << " must not return ncclInProgress";
  if (result == NCCL_NET_SUCCESS) {
    EXPECT_NE(comm, unwritten()) << call << " returned success and did not write its comm";
  } else {
    EXPECT_TRUE(comm == nullptr || comm == unwritten())
        << call << " returned an error and a comm, which NCCL would close twice";
    comm = nullptr;
  }
  return {result, comm == unwritten() ? nullptr : comm};
}

template <class Owner, class Poll>
bool step(const Net& net, Owner& owner, bool& failed, const char* call, Poll&& poll) {
  if (owner || failed) return static_cast<bool>(owner);
  const PollResult now = poll();
  if (now.comm != nullptr) owner = Owner(net, now.comm);
  failed = now.result != NCCL_NET_SUCCESS;
  EXPECT_FALSE(failed) << call << " returned " << now.result;
  return static_cast<bool>(owner);
}

Pair alternate(const Net& net, const ListenComm& listen, Handle& handle, int dev, Order order) {
  Pair pair;
  bool failed = false;
  const auto connect = [&] {
    return step(net, pair.send, failed, "connect", [&] { return poll_connect(net, handle, dev); });
  };
  const auto accept = [&] {
    return step(net, pair.recv, failed, "accept", [&] { return poll_accept(net, listen); });
  };
  const bool ended = poll_until([&] {
    if (order == Order::kConnectFirst) connect();
    accept();
    if (order == Order::kAcceptFirst) connect();
    return failed || pair;
  });
  EXPECT_TRUE(ended) << "connect and accept did not both finish";
  return failed || !ended ? Pair{} : std::move(pair);
}

}  // namespace

namespace {

// NCCL closes the descriptor as soon as regMrDmaBuf returns.
Result register_dmabuf(const Net& net, void* comm, Bytes bytes, void** mhandle) {
  const auto dmabuf = device::gpu().export_dmabuf(bytes.data(), bytes.size());
  const Result result = net.reg_mr_dmabuf(comm, bytes.data(), bytes.size(), NCCL_NET_PTR_CUDA,
                                          dmabuf.offset, dmabuf.fd, mhandle);
  close(dmabuf.fd);
  return result;
}

Result register_bytes(const Net& net, void* comm, Bytes bytes, void** mhandle) {
  const bool on_device = device::holds(bytes.data());
  if (on_device && options().by_dmabuf()) return register_dmabuf(net, comm, bytes, mhandle);
  const int type = on_device ? NCCL_NET_PTR_CUDA : NCCL_NET_PTR_HOST;
  return net.reg_mr(comm, bytes.data(), bytes.size(), type, mhandle);
}

}  // namespace

Mr::Mr(const Net& net, void* comm, Bytes bytes)
    : net_(&net),
      comm_(comm),
      result_(register_bytes(net, comm, bytes, &mhandle_)),
      owned_(result_ == NCCL_NET_SUCCESS) {
  EXPECT_EQ(result_, NCCL_NET_SUCCESS) << "regMr of " << bytes.size() << " bytes";
}

Mr::Mr(Mr&& other) noexcept
    : net_(other.net_),
      comm_(other.comm_),
      mhandle_(other.mhandle_),
      result_(other.result_),
      owned_(std::exchange(other.owned_, false)) {}

Mr::~Mr() {
  if (owned_) deregister();
}

Result Mr::deregister() {
  owned_ = false;
  return net_->dereg_mr(comm_, mhandle_);
}

PollResult poll_connect(const Net& net, Handle& handle, int dev) {
  void* comm = unwritten();
  const Result result = net.connect(dev, handle.bytes.data(), &comm);
  return checked("connect", result, comm);
}

PollResult poll_accept(const Net& net, const ListenComm& listen) {
  void* comm = unwritten();
  const Result result = net.accept(listen.get(), &comm);
  return checked("accept", result, comm);
}

Listener open_listener(const Net& net, int dev) {
  Listener listener;
  listener.handle.bytes.fill(std::byte{0xEE});  // NCCL's handle may be stack memory
  void* comm = nullptr;
  const Result result = net.listen(dev, listener.handle.bytes.data(), &comm);
  EXPECT_EQ(result, NCCL_NET_SUCCESS) << "listen on device " << dev;
  EXPECT_NE(comm, nullptr) << "listen must give a comm at once";
  if (result == NCCL_NET_SUCCESS) listener.comm = ListenComm(net, comm);
  return listener;
}

Pair connect_to(const Net& net, const ListenComm& listen, Handle handle, int dev, Order order) {
  return alternate(net, listen, handle, dev, order);
}

Pair connect_loopback(const Net& net, int dev, Order order) {
  Listener listener = open_listener(net, dev);
  if (!listener.comm) return {};
  Pair pair = alternate(net, listener.comm, listener.handle, dev, order);
  EXPECT_EQ(listener.comm.close(), NCCL_NET_SUCCESS);
  return pair;
}

std::vector<Pair> connect_many(const Net& net, size_t count) {
  std::vector<Pair> pairs;
  while (pairs.size() < count) {
    Pair pair = connect_loopback(net);
    if (!pair) break;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Pair connect_to_peer(const Net& net, Channel& channel) {
  Listener listener = open_listener(net);
  Handle theirs;
  if (!listener.comm || !channel.send(listener.handle) || !channel.receive(theirs)) return {};
  Pair pair = alternate(net, listener.comm, theirs, 0, Order::kConnectFirst);
  EXPECT_EQ(listener.comm.close(), NCCL_NET_SUCCESS);
  return pair;
}

}  // namespace fabrail::conformance
