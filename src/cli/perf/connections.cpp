// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Communicators between ranks, set up the way NCCL does it: the receiver listens and tells its
// handle, the sender connects, both are called again and again and never block.
#include "src/cli/perf/connections.h"

#include <algorithm>
#include <cstring>

#include "src/cli/common/failure.h"

namespace fabrail::cli::perf {
namespace {

/// One edge of which this rank is an end.
struct Pending {
  size_t edge = 0;
  Handle handle{};
  ListenComm listener;
};

/// Connection set-up of one rank: what it still has to accept and to connect.
class Setup {
 public:
  Setup(Plugin& plugin, int device, const std::vector<Edge>& edges)
      : plugin_(plugin), device_(device), edges_(edges) {
    connections_.sends.resize(edges.size());
    connections_.recvs.resize(edges.size());
  }

  /// Listens for every edge that ends here; the handles, in the order of the edges.
  Rendezvous::Blob listen(int rank) {
    Rendezvous::Blob handles;
    for (size_t edge = 0; edge < edges_.size(); ++edge) {
      if (edges_[edge].to != rank) continue;
      Pending pending{.edge = edge, .handle = {}, .listener = {}};
      pending.listener = ListenComm(plugin_, plugin_.listen(device_, pending.handle));
      handles.insert(handles.end(), pending.handle.begin(), pending.handle.end());
      accepts_.push_back(std::move(pending));
    }
    return handles;
  }

  /// Takes the handles of the edges that begin here from what their ends have told.
  void take_handles(int rank, const std::vector<Rendezvous::Blob>& told) {
    std::vector<size_t> used(told.size(), 0);
    for (size_t edge = 0; edge < edges_.size(); ++edge) {
      const auto to = static_cast<size_t>(edges_[edge].to);
      const size_t offset = used[to];
      used[to] += sizeof(Handle);
      if (edges_[edge].from != rank) continue;
      Pending pending{.edge = edge, .handle = {}, .listener = {}};
      std::memcpy(pending.handle.data(), told[to].data() + offset, sizeof(Handle));
      connects_.push_back(std::move(pending));
    }
  }

  /// One round over everything that is not connected; true when something got ready.
  bool step() {
    const size_t before = connects_.size() + accepts_.size();
    std::erase_if(connects_, [this](Pending& pending) { return step_connect(pending); });
    std::erase_if(accepts_, [this](Pending& pending) { return step_accept(pending); });
    return connects_.size() + accepts_.size() < before;
  }

  bool finished() const { return connects_.empty() && accepts_.empty(); }
  Connections take() { return std::move(connections_); }

 private:
  bool step_connect(Pending& pending) {
    void* comm = plugin_.connect(device_, pending.handle);
    if (comm != nullptr) connections_.sends[pending.edge] = SendComm(plugin_, comm);
    return comm != nullptr;
  }

  bool step_accept(Pending& pending) {
    void* comm = plugin_.accept(pending.listener.get());
    if (comm == nullptr) return false;
    connections_.recvs[pending.edge] = RecvComm(plugin_, comm);
    pending.listener.close();
    return true;
  }

  Plugin& plugin_;
  int device_;
  const std::vector<Edge>& edges_;
  std::vector<Pending> accepts_;
  std::vector<Pending> connects_;
  Connections connections_;
};

}  // namespace

Registration::Registration(Plugin& plugin, void* comm, std::byte* address, size_t bytes)
    : plugin_(&plugin), comm_(comm), mhandle_(plugin.reg_mr(comm, address, bytes)) {}

Registration::Registration(Plugin& plugin, void* comm, const Buffer& buffer)
    : plugin_(&plugin),
      comm_(comm),
      mhandle_(plugin.reg_mr(comm, buffer.data(), buffer.size(),
                             buffer.gpu() != nullptr ? NCCL_NET_PTR_CUDA : NCCL_NET_PTR_HOST)) {}

Registration::Registration(Registration&& other) noexcept
    : plugin_(std::exchange(other.plugin_, nullptr)),
      comm_(other.comm_),
      mhandle_(other.mhandle_) {}

Registration& Registration::operator=(Registration&& other) noexcept {
  std::swap(plugin_, other.plugin_);
  std::swap(comm_, other.comm_);
  std::swap(mhandle_, other.mhandle_);
  return *this;
}

Registration::~Registration() {
  try {
    close();
  } catch (const std::exception&) {
    // As in ~Comm: another failure is on its way.
  }
}

void Registration::close() {
  Plugin* plugin = std::exchange(plugin_, nullptr);
  if (plugin != nullptr) plugin->dereg_mr(comm_, mhandle_);
}

Connections connect(Plugin& plugin, Rendezvous& rendezvous, Poller& poller, int device,
                    const std::vector<Edge>& edges) {
  Setup setup(plugin, device, edges);
  setup.take_handles(rendezvous.rank(), rendezvous.all_gather(setup.listen(rendezvous.rank())));
  while (!setup.finished()) {
    if (!setup.step()) poller.idle();
  }
  rendezvous.barrier();
  return setup.take();
}

}  // namespace fabrail::cli::perf
