// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// isend, irecv and test, checked call by call.
#include "tests/conformance/transfer.h"

#include <algorithm>

#include "tests/conformance/device.h"

namespace fabrail::conformance {
namespace {

constexpr int kDoneUnwritten = static_cast<int>(0xdeadbeef);
constexpr int kSizeUnwritten = -77;

void check_sizes(const Pending& p, const std::array<int, kMaxGroup>& sizes) {
  const auto end = sizes.begin() + (p.done ? p.count : 0);
  EXPECT_TRUE(std::all_of(sizes.begin(), end, [](int s) { return s >= 0; }))
      << "test said done and did not write all " << p.count << " sizes";
  EXPECT_TRUE(std::all_of(end, sizes.end(), [](int s) { return s == kSizeUnwritten; }))
      << "test wrote sizes that are not its own; NCCL sums the whole array";
}

Pending started(const char* call, Result result, void* request, int count) {
  EXPECT_NE(result, NCCL_NET_IN_PROGRESS) << call << " must not return ncclInProgress";
  Pending p;
  p.result = result;
  p.count = count;
  p.request = result == NCCL_NET_SUCCESS ? request : nullptr;
  return p;
}

template <class Try>
Pending post(const Net& net, std::initializer_list<Pending*> meanwhile, Try&& attempt) {
  Pending p;
  poll_until([&] {
    for (Pending* other : meanwhile) step(net, *other);
    p = attempt();
    return p.posted() || p.failed();
  });
  return p;
}

testing::AssertionResult verdict(const Pending& p) {
  if (p.done) return testing::AssertionSuccess();
  if (p.failed()) return testing::AssertionFailure() << "the plugin returned " << p.result;
  return testing::AssertionFailure() << (p.posted() ? "never done" : "never taken by the plugin");
}

}  // namespace

Pending try_isend(const Net& net, const SendComm& comm, const Slice& from) {
  void* request = nullptr;
  const Result result =
      net.isend(comm.get(), from.data, from.size, from.tag, from.mhandle, &request);
  return started("isend", result, request, 1);
}

Pending try_irecv(const Net& net, const RecvComm& comm, const std::vector<Slice>& to, Hint hint) {
  std::array<void*, kMaxGroup> data{};
  std::array<size_t, kMaxGroup> sizes{};
  std::array<int, kMaxGroup> tags{};
  std::array<void*, kMaxGroup> mhandles{};
  for (size_t i = 0; i < to.size(); ++i) {
    data[i] = to[i].data;
    sizes[i] = to[i].size;
    tags[i] = to[i].tag;
    mhandles[i] = to[i].mhandle;
  }
  const int n = static_cast<int>(to.size());
  void* const hinted = reinterpret_cast<void*>(uintptr_t{1});
  void* request = hint == Hint::kNone ? nullptr : hinted;
  const Result result =
      net.irecv(comm.get(), {n, data.data(), sizes.data(), tags.data(), mhandles.data()}, &request);
  if (result == NCCL_NET_SUCCESS) {
    EXPECT_NE(request, hinted) << "irecv left NCCL's hint there";
  }
  Pending p = started("irecv", result, request == hinted ? nullptr : request, n);
  if (std::any_of(data.begin(), data.begin() + n, device::holds)) {
    p.flushed_comm = comm.get();
    p.data = data;
    p.mhandles = mhandles;
  }
  return p;
}

namespace {

// As NCCL's proxy does it for GPUs below compute capability 9.0.
void start_flush(const Net& net, Pending& p) {
  void* request = nullptr;
  p.result = net.iflush(p.flushed_comm, p.count, p.data.data(), p.sizes.data(), p.mhandles.data(),
                        &request);
  p.flushing = !p.failed() && request != nullptr;
  p.done = !p.failed() && request == nullptr;
  if (p.flushing) p.request = request;
}

void step_flush(const Net& net, Pending& p) {
  int done = 0;
  p.result = net.test(p.request, &done, nullptr);
  p.done = !p.failed() && done == 1;
  p.flushing = !p.done;
}

}  // namespace

void step(const Net& net, Pending& p) {
  if (!p.in_flight()) return;
  if (p.flushing) return step_flush(net, p);
  int done = kDoneUnwritten;
  std::array<int, kMaxGroup> sizes;
  sizes.fill(kSizeUnwritten);
  p.result = net.test(p.request, &done, sizes.data());
  EXPECT_NE(p.result, NCCL_NET_IN_PROGRESS) << "test must not return ncclInProgress";
  if (p.failed()) return;
  EXPECT_TRUE(done == 0 || done == 1) << "test wrote " << done << " into done";
  p.done = done == 1;
  check_sizes(p, sizes);
  if (!p.done) return;
  p.sizes = sizes;
  if (p.flushed_comm != nullptr) start_flush(net, p);
}

testing::AssertionResult flush(const Net& net, Pending& receive) {
  if (receive.flushed_comm == nullptr) return testing::AssertionSuccess();
  start_flush(net, receive);
  return finish(net, {&receive});
}

void step(const Net& net, std::vector<Pending>& pending) {
  for (Pending& p : pending) step(net, p);
}

Pending post_send(const Net& net, const SendComm& comm, const Slice& from,
                  std::initializer_list<Pending*> meanwhile) {
  return post(net, meanwhile, [&] { return try_isend(net, comm, from); });
}

Pending post_recv(const Net& net, const RecvComm& comm, const std::vector<Slice>& to,
                  std::initializer_list<Pending*> meanwhile) {
  return post(net, meanwhile, [&] { return try_irecv(net, comm, to); });
}

testing::AssertionResult finish(const Net& net, std::initializer_list<Pending*> all) {
  poll_until([&] {
    for (Pending* p : all) step(net, *p);
    return std::all_of(all.begin(), all.end(), [](Pending* p) { return p->done; }) ||
           std::any_of(all.begin(), all.end(),
                       [](Pending* p) { return !p->in_flight() && !p->done; });
  });
  const auto bad = std::find_if(all.begin(), all.end(), [](Pending* p) { return !p->done; });
  return bad == all.end() ? testing::AssertionSuccess()
                          : verdict(**bad) << " (request " << bad - all.begin() << ")";
}

testing::AssertionResult finish(const Net& net, std::vector<Pending>& all) {
  poll_until([&] {
    step(net, all);
    return std::none_of(all.begin(), all.end(), [](const Pending& p) { return p.in_flight(); });
  });
  const auto bad = std::find_if(all.begin(), all.end(), [](const Pending& p) { return !p.done; });
  return bad == all.end() ? testing::AssertionSuccess()
                          : verdict(*bad) << " (request " << bad - all.begin() << ")";
}

bool run_to_end(const Net& net, Pending& pending) {
  return poll_until([&] {
    step(net, pending);
    return !pending.in_flight();
  });
}

testing::AssertionResult send_one(const Net& net, const SendComm& comm, const Slice& from) {
  Pending send = post_send(net, comm, from);
  run_to_end(net, send);
  return verdict(send);
}

int receive_one(const Net& net, const RecvComm& comm, const Slice& to) {
  Pending recv = post_recv(net, comm, {to});
  run_to_end(net, recv);
  const auto ended = verdict(recv);
  EXPECT_TRUE(ended) << "irecv";
  return ended ? recv.sizes[0] : -1;
}

testing::AssertionResult transfer(const Net& net, const Pair& pair, const Slice& from,
                                  const Slice& to) {
  Pending recv = post_recv(net, pair.recv, {to});
  if (!recv.posted()) return verdict(recv) << ": irecv";
  Pending send = post_send(net, pair.send, from, {&recv});
  if (!send.posted()) return verdict(send) << ": isend";
  auto both = finish(net, {&recv, &send});
  if (!both) return both;
  const int size = static_cast<int>(from.size);
  if (recv.sizes[0] == size && send.sizes[0] == size) return both;
  return testing::AssertionFailure() << "sent " << size << " bytes, test says " << send.sizes[0]
                                     << " on the sender, " << recv.sizes[0] << " on the receiver";
}

testing::AssertionResult works(const Net& net, const Pair& pair, size_t size, int messages) {
  Buffer from(size);
  Buffer to(size);
  Mr from_mr(net, pair.send.get(), from.bytes());
  Mr to_mr(net, pair.recv.get(), to.bytes());
  for (int i = 0; i < messages; ++i) {
    const auto seed = static_cast<uint64_t>(i) + 1000;
    fill_pattern(from.bytes(), seed);
    auto moved = transfer(net, pair, slice(from.bytes(), from_mr), slice(to.bytes(), to_mr));
    if (!moved) return moved;
    if (auto same = has_pattern(to.bytes(), seed); !same) return same;
  }
  return to.intact();
}

int max_group(const Net& net) {
  Properties p;
  EXPECT_EQ(net.get_properties(0, &p), NCCL_NET_SUCCESS);
  return std::clamp(p.max_recvs, 1, kMaxGroup);
}

}  // namespace fabrail::conformance
