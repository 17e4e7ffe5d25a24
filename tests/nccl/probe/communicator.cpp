// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Which of NCCL's functions are called, in which release. The loader has three shapes:
//   2.18 .. 2.21  the plugin is loaded by ncclGetUniqueId() itself, once for each process
//   2.22 .. 2.26  by ncclNetPluginLoad, unloaded by ncclNetPluginUnload; ncclNetFinalize between
//   2.27 ..       by ncclNetInit, unloaded by ncclNetFinalize
// Up to 2.27, commAlloc (the first step of ncclCommInitRank) does all that, says "Using network",
// and only then asks for a CUDA device, so it is the door to use; later it asks for CUDA first.
#include "tests/nccl/probe/communicator.h"

#include <climits>

namespace fabrail::nccl_test {
namespace {

constexpr int kUnhandledCudaError = 1;
constexpr size_t kSharedBytes = 64 << 10;  // no release's ncclSharedResources exceeds 8 KiB

/// ncclConfig_t as applications built against NCCL 2.26 have it. Older releases ignore its end,
/// newer ones fill in what it lacks.
struct PublicConfig {
  size_t size = sizeof(PublicConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 22600;
  int blocking = INT_MIN;  // INT_MIN: not set
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;
};
static_assert(sizeof(PublicConfig) == 48);

using CommFunction = int(void* comm);

}  // namespace

Communicator::Communicator(const NcclLibrary& nccl, uint64_t comm_hash)
    : nccl_(&nccl),
      layout_(&comm_layout(nccl.version())),
      memory_(std::make_unique<char[]>(layout_->comm_bytes)),
      shared_(std::make_unique<char[]>(kSharedBytes)) {
  member<uint64_t>(layout_->comm_hash) = comm_hash;
  member<void*>(layout_->shared) = shared_.get();
  configure();
  result_ = open();
}

// NCCL_NET and its relatives are applied here, by NCCL.
void Communicator::configure() {
  PublicConfig config;
  auto* parse = nccl_->require<int(void*, PublicConfig*)>("_ZL15parseCommConfigP8ncclCommP");
  if (parse(memory_.get(), &config) != 0)
    throw std::runtime_error("NCCL refused the configuration");
}

int Communicator::open() {
  if (nccl_->version() >= 22800) {
    door_ = "ncclNetInit";
    return nccl_->require<CommFunction>("_Z11ncclNetInitP8ncclComm")(memory_.get());
  }
  door_ = "commAlloc";
  auto* comm_alloc = nccl_->require<int(void* comm, void* parent, int ranks, int rank)>(
      "_ZL9commAllocP8ncclCommS0_ii");
  const int result = comm_alloc(memory_.get(), nullptr, 1, 0);
  const bool stopped_at_cuda = result == kUnhandledCudaError && table() != nullptr;
  return stopped_at_cuda ? 0 : result;
}

int Communicator::close() {
  int result = 0;
  if (auto* finalize = nccl_->find<CommFunction>("_Z15ncclNetFinalizeP8ncclComm")) {
    result = finalize(memory_.get());
  }
  if (auto* unload = nccl_->find<CommFunction>("_Z19ncclNetPluginUnloadP8ncclComm")) {
    const int unloaded = unload(memory_.get());
    result = result != 0 ? result : unloaded;
  }
  return result;
}

const void* Communicator::table() const { return member<const void*>(layout_->net); }

std::string Communicator::network() const {
  // Every ABI's table begins with its name.
  return table() == nullptr ? "" : *static_cast<const char* const*>(table());
}

int Communicator::abi() const {
  if (layout_->net_version != CommLayout::kAbsent) return member<int>(layout_->net_version);
  return nccl_->require<CommFunction>("_Z14ncclNetVersionP8ncclComm")(memory_.get());
}

void* Communicator::context() const {
  const size_t offset = layout_->net_context;
  return offset == CommLayout::kAbsent ? nullptr : member<void*>(offset);
}

}  // namespace fabrail::nccl_test
